package sample_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
)

func TestQuantile(t *testing.T) {
	tests := map[string]struct {
		series sample.Series
		q      float64
		want   float64
	}{
		"one":          {sample.Series{3}, 0.5, 3},
		"odd":          {sample.Series{9, 1, 5}, 0.5, 5},
		"even":         {sample.Series{4, 2}, 0.5, 3},
		"lowest":       {sample.Series{4, 2, 8}, 0, 2},
		"highest":      {sample.Series{4, 2, 8}, 1, 8},
		"between":      {sample.Series{0, 10, 20, 30, 40}, 0.25, 10},
		"interpolated": {sample.Series{0, 10}, 0.25, 2.5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.series.Quantile(tt.q); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got := (sample.Series{}).Median(); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}

func TestSeriesOver(t *testing.T) {
	got := sample.Series{6, 6, 6}.Over(sample.Series{2, 3})
	if diff := cmp.Diff(sample.Series{3, 2}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sample.Series{2, 4}, sample.Series{4, 8}.Over(sample.Constant(2, 2))); diff != "" {
		t.Error(diff)
	}
}

func TestSeriesPlus(t *testing.T) {
	series := sample.Series{1, 2}
	if diff := cmp.Diff(sample.Series{1.5, 2.5}, series.Plus(0.5)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sample.Series{1, 2}, series); diff != "" {
		t.Errorf("the series itself changed:\n%s", diff)
	}
}

func TestInTurnOrder(t *testing.T) {
	var order strings.Builder
	calls := map[string]int{}
	subject := func(name string) sample.Subject {
		return func(context.Context) (float64, error) {
			order.WriteString(name)
			calls[name]++
			return float64(calls[name]), nil
		}
	}
	got, err := sample.InTurn(t.Context(), 3, subject("a"), subject("b"))
	if err != nil {
		t.Fatal(err)
	}
	if order.String() != "abbaabba" {
		t.Errorf("order %s", order.String())
	}
	if diff := cmp.Diff([]sample.Series{{2, 3, 4}, {2, 3, 4}}, got); diff != "" {
		t.Errorf("the warm-up is counted or something is lost (-want +got):\n%s", diff)
	}
}

func TestInTurnStopsAtError(t *testing.T) {
	broken := errors.New("broken")
	_, err := sample.InTurn(t.Context(), 3, func(context.Context) (float64, error) { return 0, broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = sample.InTurn(ctx, 3, func(context.Context) (float64, error) { cancel(); return 0, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
