// Package lint checks stages and pipelines without running them: it reports the compiler's faults, and warns of valid
// settings that are probably mistakes, such as a prompt variable without a value.
//
// It starts no process and writes no file. Each fault and warning has a file, line and column. All faults and warnings
// of a target are reported together. Start with [Linter].
package lint
