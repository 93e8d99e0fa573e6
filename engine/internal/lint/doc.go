// Package lint checks stages and pipelines without running them: all that the compiler finds, and beside it
// what works but is probably not meant, such as a prompt with a variable that nothing replaces.
//
// It starts nothing and writes nothing. Faults and warnings come with file, line and column, all of a file at
// once. Start with [Linter].
package lint
