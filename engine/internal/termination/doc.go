// Package termination asks a node's termination strategy after an iteration, and holds the strategies that need
// nothing from outside: [Fixed] and [Checks].
//
// Asking is the same for built-in strategies and plugins: a request with all data that the strategy may inspect; the
// answer is a decision, or a question that a provider answers first. Start with [Asker].
package termination
