// Package termination asks a node's termination strategy after an iteration, and contains the built-in strategies
// [Fixed] and [Checks].
//
// Built-in strategies and plugins are asked alike: the request has all data that a strategy may inspect. The answer is
// a decision, or a question that a provider answers first. Start with [Asker].
package termination
