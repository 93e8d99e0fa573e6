// Command agent-plugin-acp serves the provider "acp" for any agent of the Agent Client Protocol, and providers for
// known agents, such as "acp-claude".
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/acp/acp"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(acp.Plugin(version)) }
