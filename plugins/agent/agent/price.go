package agent

import sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// Price is the price of a model's tokens, in US dollars per million tokens.
type Price struct {
	// Input and Output are required.
	Input  *float64 `json:"input"`
	Output *float64 `json:"output"`
	// CachedInput applies to input read from the cache, CacheWrite to input written to it. Default for both: Input.
	CachedInput *float64 `json:"cached_input"`
	CacheWrite  *float64 `json:"cache_write"`
}

func (p Price) check(name string) error {
	if p.Input == nil || p.Output == nil {
		return configError("prices.%s needs input and output", name)
	}
	for _, price := range []*float64{p.Input, p.Output, p.CachedInput, p.CacheWrite} {
		if price != nil && *price < 0 {
			return configError("prices.%s has a negative price", name)
		}
	}
	return nil
}

// cost returns the price of the tokens in US dollars, or nil if the input or output count is unknown.
func (p Price) cost(u sdk.Usage) *float64 {
	if u.InputTokens == nil || u.OutputTokens == nil {
		return nil
	}
	total := float64(*u.InputTokens)**p.Input + float64(*u.OutputTokens)**p.Output
	for _, part := range []struct {
		tokens *int64
		price  *float64
	}{{u.CacheReadTokens, p.CachedInput}, {u.CacheWriteTokens, p.CacheWrite}} {
		if part.price == nil {
			part.price = p.Input
		}
		if part.tokens != nil {
			total += float64(*part.tokens) * *part.price
		}
	}
	total /= 1e6
	return &total
}
