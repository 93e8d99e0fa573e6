// Package failure holds the error type that all parts of agent-pipelines share: plugins, the
// kernel, the journal and the command line.
//
// Start with [Error] and the [Kind] constants. A Kind is the error_type in error.json, the error
// event and state.json; [Kind.Retryable] reports whether a retry can help. The package imports only
// the standard library.
package failure
