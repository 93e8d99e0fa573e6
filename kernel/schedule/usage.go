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

// addUsage adds what an attempt reported to the session's sum.
func addUsage(sum *event.Usage, u *event.Usage) {
	if u == nil {
		return
	}
	for _, f := range []struct {
		to   **int64
		from *int64
	}{
		{&sum.InputTokens, u.InputTokens},
		{&sum.OutputTokens, u.OutputTokens},
		{&sum.CacheReadTokens, u.CacheReadTokens},
		{&sum.CacheWriteTokens, u.CacheWriteTokens},
		{&sum.ReasoningTokens, u.ReasoningTokens},
	} {
		*f.to = plus(*f.to, f.from)
	}
	sum.CostUSD = plus(sum.CostUSD, u.CostUSD)
}

// plus adds known numbers; unknown and unknown stays unknown.
func plus[T int64 | float64](a, b *T) *T {
	if b == nil {
		return a
	}
	sum := *b
	if a != nil {
		sum += *a
	}
	return &sum
}
