package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// cancelInFlight returns the cancel commands for everything in flight, ordered by node path and branch.
func cancelInFlight(s state.State) []Command {
	var cmds []Command
	for _, e := range s.EffectsInFlight() {
		cmds = append(cmds, Command{Kind: Cancel, Key: e.Key, Location: e.Location})
	}
	return cmds
}
