// Package claude is the provider "claude": it runs Claude Code's command line, once for each attempt.
//
// Start with [Provider.Execute]. plugin-sdk/cliagent runs the process; this package has the flags (command.go), the events
// of --output-format stream-json (event.go, stream.go) and the outcome of an attempt (verdict.go, classify.go). The facts
// about the command line were observed with Claude Code 2.1.329; unknown events and fields are ignored, so that newer
// versions work too.
//
// A command that prints plain text instead of events, as old versions do, works too: its stdout is the output, and exit
// code 0 is a success unless the output is empty.
package claude
