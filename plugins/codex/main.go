// Command agent-plugin-codex is the provider "codex", which runs the Codex command line.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/codex/codex"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(codex.Plugin(version)) }
