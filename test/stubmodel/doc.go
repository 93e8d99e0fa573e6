// Package stubmodel is an HTTP server on the loopback interface, for tests. It has the APIs of model services and
// answers from a script: with text, tool calls, usage, errors and broken connections. A real agent CLI can have a
// whole conversation with it without a model, a key or a network.
//
// Start with [Start], which shows a test. The command in cmd/stubmodel runs the same server; its scripts are the JSON
// form of [Script]. The routes are listed at [Server.ServeHTTP].
//
// script.go declares the script, conversation.go chooses the turn, play.go sends it. Each API has its own files
// behind the interface in api.go: anthropic*.go, responses*.go, chat*.go, and openai.go for the shared parts of the
// last two. The package does not know pipelines. It checks the agent's requests only by a turn's [Expect].
package stubmodel
