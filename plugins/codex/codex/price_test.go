package codex

import (
	"math"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestPrice(t *testing.T) {
	own := newPrice(3, 3, 3, 3)
	cfg := Config{Prices: map[string]*sdk.Price{"mine": &own, "gpt-5.5": nil, "gpt-5.2-codex": &own}}
	for model, want := range map[string]float64{"mine": 3, "gpt-5.2-codex": 3, "gpt-5.1-codex": 1.25, "gpt-5.5": -1, "gpt-5-codex-mini": -1} {
		p, ok := findPrice(model, cfg)
		if ok != (want >= 0) || ok && *p.Input != want {
			t.Errorf("%s: %+v, %t; want %g", model, p, ok, want)
		}
	}
}

// TestListPrices: every list price is of a known model, and cached input costs less than other input.
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
