// Package acp is the provider "acp" and the providers "acp-claude", "acp-codex", "acp-gemini" and "acp-opencode". They
// drive an agent over the Agent Client Protocol: JSON-RPC over stdin and stdout, one process for each attempt. Requests
// for permission go to the kernel.
//
// Start with [Provider.Execute]. plugin-sdk/cliagent runs the process. This package has the known agents (profile.go) and
// the conversation (session.go). The agent's notifications and requests are in report.go, reporttool.go, permission.go
// and tool.go. The outcome of an attempt is in verdict.go and classify.go.
//
// The messages are those of github.com/coder/acp-go-sdk. Its connection is not used: it handles messages out of order,
// ends if 1024 messages wait or one exceeds 10 MiB, and may lose the last answer. peer.go keeps the order.
package acp
