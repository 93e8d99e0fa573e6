// Package strategy puts a node's termination strategy its question after an iteration, and holds the
// one strategy that needs nothing from outside: [Fixed].
//
// The asking is the same for built-in strategies and plugins: a request with everything the strategy
// may look at, a decision back, or a question that a provider answers first. Start with [Asker].
package strategy
