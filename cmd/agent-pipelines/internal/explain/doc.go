// Package explain holds what the codes, words and exit codes of errors mean and what to do about them: codes.md, which
// `explain` prints and which is docs/errors.md to the letter. Start at [Find].
package explain
