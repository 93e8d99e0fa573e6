// Command agent-plugin-agent serves the provider "agent", which gives its own tools to any model with the API of OpenAI
// or Anthropic.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/agent"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(agent.Plugin(version)) }
