package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// usageOf is what an event that ends an attempt or a question says of its use, nil for nothing. A
// failed attempt has used something too.
func usageOf(e event.Event) *event.Usage {
	switch e.Type {
	case event.IterationComplete, event.Error: // what is settled tells the use of its attempt once more
		if e.Key.Kind() == event.KeySettle {
			return nil
		}
		fallthrough
	case event.AttemptComplete, event.StrategyAnswer:
		d, _ := event.Decode[struct {
			Usage *event.Usage `json:"usage"`
		}](e) // whoever applied it has read it already
		return d.Usage
	default:
		return nil
	}
}
