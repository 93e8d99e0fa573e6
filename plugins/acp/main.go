// Command agent-plugin-acp is the provider "acp", which runs any agent with the Agent Client Protocol.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/acp/acp"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(acp.Plugin(version)) }
