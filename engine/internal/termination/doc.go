// Package termination puts a node's termination strategy its question after an iteration, and holds the
// strategies that need nothing from outside: [Fixed] and [Checks].
//
// The asking is the same for built-in strategies and plugins: a request with everything the strategy
// may look at, a decision back, or a question that a provider answers first. Start with [Asker].
package termination
