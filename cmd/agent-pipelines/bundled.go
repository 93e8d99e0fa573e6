package main

import (
	"github.com/dodo-digital/agent-pipelines/plugins/acp/acp"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/agent"
	"github.com/dodo-digital/agent-pipelines/plugins/claude/claude"
	"github.com/dodo-digital/agent-pipelines/plugins/codex/codex"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/hooks"
	"github.com/dodo-digital/agent-pipelines/plugins/judge/judge"
	"github.com/dodo-digital/agent-pipelines/plugins/mock/mock"
	"github.com/dodo-digital/agent-pipelines/plugins/queue/queue"
)

// bundled are the plugins that the command carries, by their names: those of the repository's plugins
// directory. It is the one list; `plugin serve`, the search for plugins and the messages go by it.
// Nothing is made before it is asked for.
var bundled = []bundledPlugin{
	{"acp", acp.Plugin},
	{"agent", agent.Plugin},
	{"claude", claude.Plugin},
	{"codex", codex.Plugin},
	{"hooks", hooks.Plugin},
	{"judge", judge.Plugin},
	{"mock", mock.Plugin},
	{"queue", queue.Plugin},
}
