// Package acp is the provider "acp" and its sisters "acp-claude", "acp-codex", "acp-gemini" and "acp-opencode":
// they drive an agent through the Agent Client Protocol, JSON-RPC over the stdin and stdout of its process,
// one process for each attempt. The agent asks before it uses a tool, and the question goes to the kernel.
//
// Start with [Provider.Execute]. The process itself is the business of plugin-sdk/cliagent. Here are what is
// known of each agent (profile.go), the conversation (session.go), what the agent reports and asks (report.go,
// permission.go, tool.go) and what an ending means (verdict.go, classify.go).
//
// The messages are those of github.com/coder/acp-go-sdk. Its connection is not used: it takes what the agent
// tells and what it asks out of order, ends when 1024 messages wait or one is longer than 10 MiB, and may lose
// an answer that is the last thing an agent says. peer.go keeps to the order in which an agent speaks.
package acp
