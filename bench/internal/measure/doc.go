// Package measure makes the rows of the table. Each file measures one thing beside its floor, its peer
// or its target, in the same run and in turn with it; [All] is where to start.
//
// It sees the product from outside: the command, its files, and the public packages. Only the rows of
// the journal come from a Go benchmark inside the kernel, which this package runs.
package measure
