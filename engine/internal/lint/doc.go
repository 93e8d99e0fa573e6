// Package lint checks stages and pipelines without running them: it reports the compiler's faults, and warns of valid
// settings that are probably mistakes, such as a prompt variable without a value.
//
// It starts nothing and writes nothing. Faults and warnings come with file, line and column, all of a file at
// once. Start with [Linter].
package lint
