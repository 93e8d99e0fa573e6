package codex

import (
	"cmp"
	"maps"
	"math"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Price is the price of a model's tokens, in US dollars per million tokens.
type Price struct {
	// Input and Output are required.
	Input  *float64 `json:"input"`
	Output *float64 `json:"output"`
	// CachedInput applies to input read from the cache, CacheWrite to input written to it. Default for both: Input.
	CachedInput *float64 `json:"cached_input"`
	CacheWrite  *float64 `json:"cache_write"`
}

// listPrices are the prices of OpenAI's API on 2026-11-21: standard processing, requests of up to 272,000 tokens of input.
// Longer requests and other service tiers have other prices, and a ChatGPT plan is not billed by token, so a cost is an
// estimate. Models without a published price (gpt-5-codex-mini) are not listed: their cost is unknown.
var listPrices = map[string]Price{
	"gpt-5-codex":        newPrice(1.25, 0.125, 1.25, 10),
	"gpt-5.1-codex":      newPrice(1.25, 0.125, 1.25, 10),
	"gpt-5.1-codex-max":  newPrice(1.25, 0.125, 1.25, 10),
	"gpt-5.1-codex-mini": newPrice(0.25, 0.025, 0.25, 2),
	"gpt-5.2-codex":      newPrice(1.75, 0.175, 1.75, 14),
	"gpt-5.5":            newPrice(5, 0.50, 5, 30),
	"gpt-5.6-sol":        newPrice(5, 0.50, 6.25, 30),
	"gpt-5.6-terra":      newPrice(2, 0.20, 2.50, 12),
	"gpt-5.6-luna":       newPrice(0.20, 0.02, 0.25, 1.20),
	"gpt-6-astra":        newPrice(10, 1, 12.50, 50),
	"gpt-6-sol":          newPrice(2, 0.20, 2.50, 10),
	"gpt-6-luna":         newPrice(0.10, 0.01, 0.125, 0.50),
	"gpt-6.1-sol":        newPrice(2, 0.10, 2.50, 10),
	"gpt-6.1-terra":      newPrice(1, 0.05, 1.25, 5),
}

func newPrice(input, cachedInput, cacheWrite, output float64) Price {
	return Price{Input: &input, CachedInput: &cachedInput, CacheWrite: &cacheWrite, Output: &output}
}

// findPrice returns a model's price, false if it is unknown. The configured prices take precedence; null in them makes a
// listed price unknown.
func findPrice(model string, cfg Config) (Price, bool) {
	if own, ok := cfg.Prices[model]; ok {
		if own == nil {
			return Price{}, false
		}
		return *own, true
	}
	p, ok := listPrices[model]
	return p, ok
}

// checkPrices refuses prices that are incomplete or negative. Errors are of kind config_invalid.
func checkPrices(prices map[string]*Price) error {
	for _, model := range slices.Sorted(maps.Keys(prices)) {
		p := prices[model]
		if p == nil {
			continue
		}
		if p.Input == nil || p.Output == nil {
			return failure.New(failure.ConfigInvalid, "config: the price of %q lacks input or output", model).
				WithHint("prices: {%s: {input: 1.25, cached_input: 0.125, output: 10}}, in USD for a million tokens", model)
		}
		for _, usd := range []*float64{p.Input, p.Output, p.CachedInput, p.CacheWrite} {
			if usd != nil && *usd < 0 {
				return failure.New(failure.ConfigInvalid, "config: the price of %q is %g, less than 0", model, *usd)
			}
		}
	}
	return nil
}

// cost returns the price of a usage in US dollars, rounded to a billionth, nil if the input or output count is unknown.
func cost(u sdk.Usage, p Price) *float64 {
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
