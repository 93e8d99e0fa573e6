package acp

import (
	"cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// addTo returns a new usage with the tokens of one more turn added. Counts that are unknown in both stay unknown.
func (t tokens) addTo(sum *sdk.Usage) *sdk.Usage {
	if sum == nil {
		sum = &sdk.Usage{}
	}
	return &sdk.Usage{
		InputTokens:      cliagent.AddCounts(sum.InputTokens, cmp.Or(t.Input, t.InputSnake)),
		OutputTokens:     cliagent.AddCounts(sum.OutputTokens, cmp.Or(t.Output, t.OutputSnake)),
		CacheReadTokens:  cliagent.AddCounts(sum.CacheReadTokens, t.CacheRead),
		CacheWriteTokens: cliagent.AddCounts(sum.CacheWriteTokens, t.CacheWrite),
		ReasoningTokens:  cliagent.AddCounts(sum.ReasoningTokens, t.Thought),
	}
}

// totalUsage returns the usage of the attempt, nil if it is unknown.
func (r *report) totalUsage() *sdk.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usage == nil && r.cost == nil {
		return nil
	}
	return r.usageSum()
}

// usageSum returns the tokens of all turns with the cost of the session. The caller holds mu.
func (r *report) usageSum() *sdk.Usage {
	u := sdk.Usage{}
	if r.usage != nil {
		u = *r.usage
	}
	u.CostUSD = r.cost
	return &u
}
