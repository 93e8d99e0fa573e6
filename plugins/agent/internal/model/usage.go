package model

import sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// Add returns the sum of two usages; a count that is unknown in both stays unknown.
func Add(a, b sdk.Usage) sdk.Usage {
	return sdk.Usage{
		InputTokens: addCounts(a.InputTokens, b.InputTokens), OutputTokens: addCounts(a.OutputTokens, b.OutputTokens),
		CacheReadTokens: addCounts(a.CacheReadTokens, b.CacheReadTokens), CacheWriteTokens: addCounts(a.CacheWriteTokens, b.CacheWriteTokens),
		ReasoningTokens: addCounts(a.ReasoningTokens, b.ReasoningTokens), CostUSD: addCounts(a.CostUSD, b.CostUSD),
	}
}

func addCounts[N int64 | float64](a, b *N) *N {
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

// knownCount returns a pointer to n, or nil if the service did not report the count.
func knownCount(reported bool, n int64) *int64 {
	if !reported {
		return nil
	}
	return &n
}
