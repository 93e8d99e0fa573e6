// Command acp-agent is an agent of the Agent Client Protocol that does what a script says, for tests.
package main

import (
	"os"

	"github.com/dodo-digital/agent-pipelines/plugins/acp/internal/fakeagent"
)

func main() { fakeagent.Main(os.Exit) }
