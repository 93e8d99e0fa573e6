// Package inspect answers queries about sessions from their files: status, history, metrics, artifacts, open
// questions, and their events as they happen. It takes no lock, starts nothing and changes nothing.
//
// Start with [Inspector], which [engine.Engine] embeds.
//
// [engine.Engine]: https://pkg.go.dev/github.com/dodo-digital/agent-pipelines/engine#Engine
package inspect
