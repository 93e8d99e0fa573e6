// Package tokens says how many tokens a text has for a model.
//
// Models whose vocabulary is public are counted exactly, by a library that carries the vocabulary and opens no
// connection. For all others a token is four characters, rounded up: a rule that is always the same matters more
// to whoever bounds a prompt than one that is close. Start with [For].
package tokens
