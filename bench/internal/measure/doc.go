// Package measure makes the rows of the table. Each file compares one subject with its floor, its peer or its target.
// The sides are measured alternately in the same run. Start with [All].
//
// It uses only the command, its files and the packages for embedders. Benchmarks of other packages, such as the
// journal, run as Go tests in those packages.
package measure
