// Command agent-plugin-judge serves the termination strategy "judge", also known as "judgment".
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/judge/judge"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(judge.Plugin(version)) }
