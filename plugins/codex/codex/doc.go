// Package codex is the provider "codex": it runs OpenAI Codex's command line, once for each attempt.
//
// Start with [Provider.Execute]. The process itself is the business of plugin-sdk/cliagent; here are
// models and efforts (model.go), the flags (command.go), the program that npm hides behind a wrapper
// (native.go), the events of codex exec --json (event.go, stream.go), times (limit.go), the watchdog that
// ends a Codex which stays after its work is done (watchdog.go, watched.go), what an ending means
// (verdict.go, classify.go) and what it cost (price.go). The facts about the command line were observed with Codex 0.169.0;
// unknown events and fields are ignored, so that newer ones go on working.
//
// A command that prints plain text instead of events, as stand-ins do, works too: its stdout is the
// output, and exit code 0 is success.
//
// docs/agents.md tells users the same.
package codex
