package codex

import sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// listPrices are the prices of OpenAI's API on 2026-11-21: standard processing, requests of up to 272,000 tokens of input.
// Longer requests and other service tiers have other prices, and a ChatGPT plan is not billed by token, so a cost is an
// estimate. Models without a published price (gpt-5-codex-mini) are not listed: their cost is unknown.
var listPrices = map[string]sdk.Price{
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

func newPrice(input, cachedInput, cacheWrite, output float64) sdk.Price {
	return sdk.Price{Input: &input, CachedInput: &cachedInput, CacheWrite: &cacheWrite, Output: &output}
}

// findPrice returns a model's price, false if it is unknown. The configured prices take precedence; null in them makes a
// listed price unknown.
func findPrice(model string, cfg Config) (sdk.Price, bool) {
	if own, ok := cfg.Prices[model]; ok {
		if own == nil {
			return sdk.Price{}, false
		}
		return *own, true
	}
	p, ok := listPrices[model]
	return p, ok
}
