// Package failure holds the one error type that crosses every border of agent-pipelines: from a
// plugin to the kernel, from a room of the kernel to the journal, from the kernel to the person who
// reads the message at three in the morning.
//
// Start with [Error] and the [Kind] constants. A Kind says what went wrong in the words that
// error.json, the error event and state.json carry as error_type; [Kind.Retryable] says whether
// trying the same thing again can help. The package imports the standard library alone, so that the
// pure nouns of the kernel may use it.
package failure
