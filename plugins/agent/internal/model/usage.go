package model

import sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// Add is the sum of two counts; what is unknown in both stays unknown.
func Add(a, b sdk.Usage) sdk.Usage {
	return sdk.Usage{
		InputTokens: sum(a.InputTokens, b.InputTokens), OutputTokens: sum(a.OutputTokens, b.OutputTokens),
		CacheReadTokens: sum(a.CacheReadTokens, b.CacheReadTokens), CacheWriteTokens: sum(a.CacheWriteTokens, b.CacheWriteTokens),
		ReasoningTokens: sum(a.ReasoningTokens, b.ReasoningTokens), CostUSD: sum(a.CostUSD, b.CostUSD),
	}
}

func sum[N int64 | float64](a, b *N) *N {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		total := *a + *b
		return &total
	}
}

// known is a count that the service told, nil for one that it did not.
func known(told bool, n int64) *int64 {
	if !told {
		return nil
	}
	return &n
}
