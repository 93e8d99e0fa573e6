// Package explain holds codes.md: the meaning and the remedy of each code, word and exit code of errors. `explain`
// prints its entries, and docs/errors.md is an exact copy. Start at [Find].
package explain
