// Package condition decides whether a hook is due: it reads the expression of a hook's condition and
// evaluates it over the six variables of [Vars]. With a few words more it decides the same way whether a node is to be
// skipped, over the fields of an artifact ([ParseSkip]).
//
// The language is a small part of that of expr-lang: comparisons of whole numbers, texts and booleans, % && ||
// !, in with a list, matches with a constant pattern, and parentheses. Nothing can be called and nothing
// else is in reach, so that a condition has no effect but its answer. What the language is, is written in
// docs/hooks.md and docs/artifacts.md. Start with [Parse].
package condition
