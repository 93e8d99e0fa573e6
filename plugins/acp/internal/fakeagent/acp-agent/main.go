// Command acp-agent is a scripted agent of the Agent Client Protocol for tests.
package main

import (
	"os"

	"github.com/dodo-digital/agent-pipelines/plugins/acp/internal/fakeagent"
)

func main() { fakeagent.Main(os.Exit) }
