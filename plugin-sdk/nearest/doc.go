// Package nearest finds the known name nearest to a mistyped one. All "did you mean" messages use
// it. Start at [Name].
package nearest
