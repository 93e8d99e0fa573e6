// Command agent-plugin-claude is the provider "claude", which runs the Claude Code command line.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/claude/claude"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(claude.Plugin(version)) }
