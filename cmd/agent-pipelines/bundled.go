package main

import (
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/plugins/acp/acp"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/agent"
	"github.com/dodo-digital/agent-pipelines/plugins/claude/claude"
	"github.com/dodo-digital/agent-pipelines/plugins/codex/codex"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/hooks"
	"github.com/dodo-digital/agent-pipelines/plugins/judge/judge"
	"github.com/dodo-digital/agent-pipelines/plugins/mock/mock"
	"github.com/dodo-digital/agent-pipelines/plugins/queue/queue"
)

// bundled lists the plugins compiled into the command: those of the repository's plugins directory. Messages, `plugin
// serve` and the search for plugins use this list. The field Plugin is called only when the plugin is used.
var bundled = []cli.BundledPlugin{
	{Name: "acp", Plugin: acp.Plugin},
	{Name: "agent", Plugin: agent.Plugin},
	{Name: "claude", Plugin: claude.Plugin},
	{Name: "codex", Plugin: codex.Plugin},
	{Name: "hooks", Plugin: hooks.Plugin},
	{Name: "judge", Plugin: judge.Plugin},
	{Name: "mock", Plugin: mock.Plugin},
	{Name: "queue", Plugin: queue.Plugin},
}
