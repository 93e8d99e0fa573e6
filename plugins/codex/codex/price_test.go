package codex

import (
	"math"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func count(n int64) *int64 { return &n }

func TestCost(t *testing.T) {
	two, eight := 2.0, 8.0
	tests := []struct {
		name  string
		usage sdk.Usage
		price Price
		want  float64 // NaN is unknown
	}{
		{
			"all kinds of tokens",
			sdk.Usage{InputTokens: count(1e6), OutputTokens: count(2e6), CacheReadTokens: count(4e6), CacheWriteTokens: count(8e6), ReasoningTokens: count(1e6)},
			newPrice(1, 0.25, 1.25, 10),
			1 + 20 + 1 + 10,
		},
		{"nothing used", sdk.Usage{InputTokens: count(0), OutputTokens: count(0)}, newPrice(1, 1, 1, 1), 0},
		{"no cache", sdk.Usage{InputTokens: count(500), OutputTokens: count(100)}, newPrice(2, 1, 1, 10), 0.002},
		{
			"cached costs as the rest",
			sdk.Usage{InputTokens: count(1e6), OutputTokens: count(1e6), CacheReadTokens: count(1e6), CacheWriteTokens: count(1e6)},
			Price{Input: &two, Output: &eight},
			14,
		},
		{"input unknown", sdk.Usage{OutputTokens: count(1)}, newPrice(1, 1, 1, 1), math.NaN()},
		{"output unknown", sdk.Usage{InputTokens: count(1)}, newPrice(1, 1, 1, 1), math.NaN()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := cost(tt.usage, tt.price)
			if math.IsNaN(tt.want) {
				if got != nil {
					t.Errorf("cost = %g, want none", *got)
				}
				return
			}
			if got == nil || math.Abs(*got-tt.want) > 1e-9 {
				t.Errorf("cost = %v, want %g", got, tt.want)
			}
		})
	}
}

func TestPrice(t *testing.T) {
	own := newPrice(3, 3, 3, 3)
	cfg := Config{Prices: map[string]*Price{"mine": &own, "gpt-5.5": nil, "gpt-5.2-codex": &own}}
	for model, want := range map[string]float64{"mine": 3, "gpt-5.2-codex": 3, "gpt-5.1-codex": 1.25, "gpt-5.5": -1, "gpt-5-codex-mini": -1} {
		p, ok := findPrice(model, cfg)
		if ok != (want >= 0) || ok && *p.Input != want {
			t.Errorf("%s: %+v, %t; want %g", model, p, ok, want)
		}
	}
}

// TestListPrices: every list price is of a known model, and cached input costs at most as much as other input.
func TestListPrices(t *testing.T) {
	known := map[string]bool{}
	for _, model := range knownModels {
		known[model] = true
	}
	for model, p := range listPrices {
		if !known[model] {
			t.Errorf("%s is no known model", model)
		}
		if !(0 < *p.CachedInput && *p.CachedInput < *p.Input && *p.Input <= *p.CacheWrite && *p.CacheWrite < *p.Output) {
			t.Errorf("%s: %g, %g, %g, %g are in no order", model, *p.CachedInput, *p.Input, *p.CacheWrite, *p.Output)
		}
	}
}

// TestUsageOfSeveralTurns: each end of a turn reports the sum of the thread.
func TestUsageOfSeveralTurns(t *testing.T) {
	s := newStream(&plugintest.Exchange{})
	p := newPrice(1, 0.1, 1, 10)
	s.price = &p
	for _, event := range []string{
		`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":10}}`,
		`{"type":"turn.completed","usage":{"input_tokens":300,"cached_input_tokens":100,"output_tokens":20}}`,
		`{"type":"turn.completed"}`,
	} {
		s.events.Line([]byte(event))
	}
	u := s.usage
	if *u.InputTokens != 200 || *u.CacheReadTokens != 100 || *u.OutputTokens != 20 || math.Abs(*u.CostUSD-410e-6) > 1e-12 {
		t.Errorf("usage %d, %d, %d, %g", *u.InputTokens, *u.CacheReadTokens, *u.OutputTokens, *u.CostUSD)
	}
}
