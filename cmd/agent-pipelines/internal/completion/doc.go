// Package completion says what may stand on a command line where somebody presses the tab key: [At] finds out from the
// grammar of the command, [Script] is what a shell is told to ask.
//
// It knows the grammar only. What sessions, stages or pipelines there are is for the caller to say, who is told of which
// [Kind] the word is.
package completion
