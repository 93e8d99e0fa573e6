// Command agent-plugin-hooks serves the hook actions "webhook", "script", "check" and "deliver", and the provider "command".
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/hooks"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(hooks.Plugin(version)) }
