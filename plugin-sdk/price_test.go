package sdk

import "testing"

func TestCost(t *testing.T) { // U182
	n := func(n int64) *int64 { return &n }
	f := func(f float64) *float64 { return &f }
	tests := []struct {
		name  string
		price Price
		usage Usage
		want  *float64
	}{
		{"nothing known", Price{Input: f(1), Output: f(2)}, Usage{}, nil},
		{"half known", Price{Input: f(1), Output: f(2)}, Usage{InputTokens: n(5)}, nil},
		{"plain", Price{Input: f(1), Output: f(2)}, Usage{InputTokens: n(1e6), OutputTokens: n(5e5)}, f(2)},
		{"cached at the price of input", Price{Input: f(1), Output: f(2)}, Usage{InputTokens: n(0), OutputTokens: n(0), CacheReadTokens: n(1e6), CacheWriteTokens: n(1e6)}, f(2)},
		{"cached", Price{Input: f(1), Output: f(2), CachedInput: f(0.5), CacheWrite: f(4)}, Usage{InputTokens: n(0), OutputTokens: n(0), CacheReadTokens: n(1e6), CacheWriteTokens: n(1e6)}, f(4.5)},
		{"for nothing", Price{Input: f(0), Output: f(0)}, Usage{InputTokens: n(10), OutputTokens: n(10)}, f(0)},
	}
	for _, tt := range tests {
		got := tt.price.Cost(tt.usage)
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCheckPrice(t *testing.T) {
	one, negative := 1.0, -1.0
	for name, tt := range map[string]struct {
		price Price
		ok    bool
	}{
		"whole":    {Price{Input: &one, Output: &one}, true},
		"half":     {Price{Input: &one}, false},
		"negative": {Price{Input: &one, Output: &one, CacheWrite: &negative}, false},
	} {
		if err := tt.price.Check("m"); (err == nil) != tt.ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
