// Command agent-plugin-queue serves the termination strategy "queue", which stops when a queue is empty.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/queue/queue"
)

// version is set by the build.
var version = "0.0.0-dev"

func main() { serve.Main(queue.Plugin(version)) }
