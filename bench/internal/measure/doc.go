// Package measure makes the rows of the table. Each file measures one subject beside its floor, its
// peer or its target, alternately in the same run. Start with [All].
//
// It uses only the command, its files and the public packages. Benchmarks of private packages, such
// as the journal, run as Go tests there.
package measure
