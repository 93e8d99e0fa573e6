package claude

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// totalUsage returns the usage of a whole run, nil if the result has none. Counts by model take precedence: when a
// budget ends the run, the result's own usage is all zeros.
func totalUsage(e resultEvent) *sdk.Usage {
	if e.Usage == nil && len(e.ModelUsage) == 0 {
		return nil
	}
	t := &sdk.Usage{CostUSD: e.TotalCostUSD}
	if u := e.Usage; u != nil {
		t.InputTokens, t.OutputTokens, t.CacheReadTokens, t.CacheWriteTokens = u.Input, u.Output, u.CacheRead, u.CacheWrite
		if u.Details != nil {
			t.ReasoningTokens = u.Details.Thinking
		}
	}
	if len(e.ModelUsage) == 0 {
		return t
	}
	var sum modelCost
	for _, m := range e.ModelUsage {
		sum.InputTokens += m.InputTokens
		sum.OutputTokens += m.OutputTokens
		sum.CacheReadTokens += m.CacheReadTokens
		sum.CacheWriteTokens += m.CacheWriteTokens
	}
	t.InputTokens, t.OutputTokens = &sum.InputTokens, &sum.OutputTokens
	t.CacheReadTokens, t.CacheWriteTokens = &sum.CacheReadTokens, &sum.CacheWriteTokens
	return t
}

// addInput returns a new usage with the input of a reply added. The output stays unknown until the result, because the
// reply's events do not have it: an interrupted attempt has used at least this much.
func addInput(sum *sdk.Usage, u usage) *sdk.Usage {
	if sum == nil {
		sum = &sdk.Usage{}
	}
	return &sdk.Usage{
		InputTokens:      cliagent.AddCounts(sum.InputTokens, u.Input),
		CacheReadTokens:  cliagent.AddCounts(sum.CacheReadTokens, u.CacheRead),
		CacheWriteTokens: cliagent.AddCounts(sum.CacheWriteTokens, u.CacheWrite),
	}
}
