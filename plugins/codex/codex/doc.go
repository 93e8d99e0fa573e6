// Package codex is the provider "codex": it runs OpenAI Codex's command line, once for each attempt.
//
// Start with [Provider.Execute]. plugin-sdk/cliagent runs the process and ends it with all its descendants: with an
// older Node, npm's wrapper starts Codex as a child process. This package has models and efforts (model.go) and the
// flags (command.go). It reads the events of codex exec --json (event.go, stream.go) and limits the time of an attempt
// (limit.go). A watchdog ends a Codex that stays after its work is done (watchdog.go, watched.go). The outcome of an
// attempt is in verdict.go and classify.go, its cost in price.go. The facts about the command line were observed with
// Codex 0.169.0; unknown events and fields are ignored, so that newer versions work too.
//
// A command that prints plain text instead of events, as the fakes of tests do, works too: its stdout is the output,
// and exit code 0 is a success unless the output is empty. docs/agents.md is the user's documentation.
package codex
