// Package explain holds codes.md: the meaning and the remedy of each error code, error_type and exit code. `explain`
// prints its entries, and docs/errors.md is an exact copy. Start at [Find].
package explain
