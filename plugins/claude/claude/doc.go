// Package claude is the provider "claude": it runs Claude Code's command line, once for each attempt.
//
// Start with [Provider.Execute]. The process itself is the business of plugin-sdk/cliagent; here are
// the flags (command.go), the events of --output-format stream-json (event.go, stream.go) and what an
// ending means (verdict.go, classify.go). The facts about the command line were observed with Claude
// Code 2.1.329; unknown events and fields are ignored, so that newer ones go on working.
//
// A command that prints plain text instead of events, as old versions and stand-ins do, works too: its
// stdout is the output, and exit code 0 is success unless it printed nothing.
package claude
