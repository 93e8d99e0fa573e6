package event

// Usage sums what an attempt consumed; absent fields are unknown.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"`
	OutputTokens     *int64   `json:"output_tokens,omitempty"`
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"`
	CostUSD          *float64 `json:"cost_usd,omitempty"`
}

// Plus is the sum of both; nil is nothing known.
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

// Sum adds known numbers; unknown and unknown stays unknown.
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
