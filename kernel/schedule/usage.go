package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// closing is what an event that ends an attempt, a question or an iteration says of it, whatever its type.
type attemptResult struct {
	// Output is what the agent said.
	Output *event.Ref `json:"output"`
	// Usage is what it used, nil for nothing. A failed attempt has used something too.
	Usage *event.Usage `json:"usage"`
	// Artifact is what an iteration made for other nodes.
	Artifact *event.Ref `json:"artifact"`
}

// closingOf is empty for events that end nothing.
func decodeAttemptResult(e event.Event) attemptResult {
	switch e.Type {
	case event.IterationComplete, event.Error, event.AttemptComplete, event.StrategyAnswer:
		d, _ := event.Decode[attemptResult](e) // whoever applied it has read it already
		if e.Key.Kind() == event.KeySettle && e.Type != event.AttemptComplete {
			d.Usage = nil // what is settled tells the use of its attempt once more
		}
		return d
	default:
		return attemptResult{}
	}
}
