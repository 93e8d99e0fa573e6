package sdk

import (
	"cmp"
	"math"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Price is the price of a model's tokens, in US dollars per million tokens.
type Price struct {
	// Input and Output are required.
	Input  *float64 `json:"input"`
	Output *float64 `json:"output"`
	// CachedInput applies to input read from the cache, CacheWrite to input written to it. Default
	// for both: Input.
	CachedInput *float64 `json:"cached_input"`
	CacheWrite  *float64 `json:"cache_write"`
}

// Check returns an error of kind config_invalid for an incomplete or negative price of a model.
func (p Price) Check(model string) error {
	if p.Input == nil || p.Output == nil {
		return failure.New(failure.ConfigInvalid, "config: prices.%s needs input and output", model).
			WithHint("prices: {%s: {input: 1.25, cached_input: 0.125, output: 10}}, in USD for a million tokens", model)
	}
	for _, usd := range []*float64{p.Input, p.Output, p.CachedInput, p.CacheWrite} {
		if usd != nil && *usd < 0 {
			return failure.New(failure.ConfigInvalid, "config: prices.%s has the negative price %g", model, *usd).
				WithHint("write 0 or more, in USD for a million tokens")
		}
	}
	return nil
}

// Cost returns the price of a usage in US dollars, rounded to a billionth. It returns nil if the count of input or
// output is unknown. The price must have passed [Price.Check].
func (p Price) Cost(u Usage) *float64 {
	if u.InputTokens == nil || u.OutputTokens == nil {
		return nil
	}
	sum := float64(*u.InputTokens)**p.Input + float64(*u.OutputTokens)**p.Output
	if n := u.CacheReadTokens; n != nil {
		sum += float64(*n) * *cmp.Or(p.CachedInput, p.Input)
	}
	if n := u.CacheWriteTokens; n != nil {
		sum += float64(*n) * *cmp.Or(p.CacheWrite, p.Input)
	}
	sum = math.Round(sum*1e3) / 1e9 // prices are per million tokens
	return &sum
}
