// Package stub runs the stub model server of this repository for tests: a program of its own, since no plugin imports
// another module of ours. [Main] builds it and runs a package's tests, [Start] starts it for one of them.
package stub
