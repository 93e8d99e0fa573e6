// Package contextstrategy builds the sections that a context strategy (policy.context) adds to a prompt, cut to the
// tokens that a budget leaves for them.
//
// It reads the state, the plan, the session's directory and the project. It starts no process and reads no clock, so
// that a run's prompts are reproducible byte for byte. Texts of models, users and files are in named sections; text that
// looks like a section's border is changed. Start with [Source.Sections] and [Fit].
//
// [NewTokenCounter] counts models with a public vocabulary exactly, by a library that carries the vocabulary. For other
// models a token is four characters, rounded up: for bounds on prompts a constant rule matters more than an exact count.
package contextstrategy
