// Command agent-plugin-mock serves the provider, the termination strategy and the hook action "mock",
// which behave as configured.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/mock/mock"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(mock.Plugin(version)) }
