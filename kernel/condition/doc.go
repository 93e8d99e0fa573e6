// Package condition parses and evaluates the conditions of hooks, over the variables of [Vars]. With a larger
// language it also evaluates the conditions that skip a node, over the fields of an artifact ([ParseSkip]).
//
// The language is a small part of that of expr-lang: comparisons of whole numbers, texts and booleans, % && || !,
// in with a list, matches with a constant pattern, and parentheses. Hook conditions have no calls, so that a
// condition has no side effects. docs/hooks.md and docs/artifacts.md describe the language. Start with [Parse].
package condition
