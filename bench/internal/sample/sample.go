package sample

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Series holds measured numbers of one kind in order: seconds, bytes or ratios.
type Series []float64

// Median returns the middle value; NaN for an empty series.
func (s Series) Median() float64 { return s.Quantile(0.5) }

// Quantile returns the q-quantile of the series with linear interpolation between neighbours; NaN for an empty
// series. q is from 0 to 1.
func (s Series) Quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Over divides the i-th value by the i-th of the other series. Values without a partner are
// dropped, so both series should come from the same rounds.
func (s Series) Over(other Series) Series {
	ratios := make(Series, min(len(s), len(other)))
	for i := range ratios {
		ratios[i] = s[i] / other[i]
	}
	return ratios
}

// Plus returns the series with more added to each value.
func (s Series) Plus(more float64) Series {
	sums := slices.Clone(s)
	for i := range sums {
		sums[i] += more
	}
	return sums
}

// Constant returns a series of n equal values, such as a target.
func Constant(value float64, n int) Series { return slices.Repeat(Series{value}, n) }

// Subject measures once and returns a number, possibly the median of many events.
type Subject func(ctx context.Context) (float64, error)

// InTurn measures all subjects alternately for a number of rounds. It returns a series per subject,
// whose i-th values belong together.
//
// Every second round runs in reverse order, so that the order has no effect. A first round, which
// fills caches, is not counted.
func InTurn(ctx context.Context, rounds int, subjects ...Subject) ([]Series, error) {
	all := make([]Series, len(subjects))
	for round := range rounds + 1 {
		for i := range subjects {
			if round%2 == 1 {
				i = len(subjects) - 1 - i
			}
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			value, err := subjects[i](ctx)
			if err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
			if round > 0 {
				all[i] = append(all[i], value)
			}
		}
	}
	return all, nil
}
