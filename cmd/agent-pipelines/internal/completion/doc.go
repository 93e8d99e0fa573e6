// Package completion completes a command line: [At] finds the completions in the command's grammar, [Script] returns
// a shell's script.
//
// It knows only the grammar. The caller lists sessions, stages or pipelines; it gets the word's [Kind].
package completion
