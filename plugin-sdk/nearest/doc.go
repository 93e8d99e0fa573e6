// Package nearest finds the name that somebody meant who wrote another one. Every room that says "did
// you mean" uses it, so that they all agree on what is near. Start at [Name]; what is said with the name
// is the caller's affair.
package nearest
