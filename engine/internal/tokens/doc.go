// Package tokens counts the tokens of a text for a model.
//
// Models with a public vocabulary are counted exactly, by a library that carries the vocabulary and opens no
// connection. For all other models a token is four characters, rounded up: for bounds on prompts a constant rule
// matters more than an exact count. Start with [For].
package tokens
