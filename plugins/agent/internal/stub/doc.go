// Package stub runs the stub model server of this repository for tests. The server is a program of its own, because no
// plugin imports another module of the repository. [Main] builds it and runs a package's tests, [Start] starts it.
package stub
