package event

import "iter"

// Usage is the consumption of an attempt; absent fields are unknown.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"`
	OutputTokens     *int64   `json:"output_tokens,omitempty"`
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"`
	CostUSD          *float64 `json:"cost_usd,omitempty"`
}

// Tokens yields the known token counts by kind: input, output, cache_read, cache_write and reasoning, in this order.
func (u Usage) Tokens() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, count := range []struct {
			kind  string
			count *int64
		}{
			{"input", u.InputTokens}, {"output", u.OutputTokens}, {"cache_read", u.CacheReadTokens}, {"cache_write", u.CacheWriteTokens}, {"reasoning", u.ReasoningTokens},
		} {
			if count.count != nil && !yield(count.kind, *count.count) {
				return
			}
		}
	}
}

// Plus returns the sum of u and other; a nil other adds nothing.
func (u Usage) Plus(other *Usage) Usage {
	if other == nil {
		return u
	}
	return Usage{
		InputTokens: Sum(u.InputTokens, other.InputTokens), OutputTokens: Sum(u.OutputTokens, other.OutputTokens),
		CacheReadTokens: Sum(u.CacheReadTokens, other.CacheReadTokens), CacheWriteTokens: Sum(u.CacheWriteTokens, other.CacheWriteTokens),
		ReasoningTokens: Sum(u.ReasoningTokens, other.ReasoningTokens), CostUSD: Sum(u.CostUSD, other.CostUSD),
	}
}

// Sum adds two numbers. An unknown number (nil) adds nothing; the sum of two unknown numbers is unknown.
func Sum[T int64 | float64](a, b *T) *T {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := *a + *b
	return &sum
}
