package sample

import (
	"math"
	"slices"
)

// Series are measured numbers of one kind, in the order in which they were measured: seconds, bytes or
// ratios.
type Series []float64

// Median is the middle value; NaN of an empty series.
func (s Series) Median() float64 { return s.Quantile(0.5) }

// Quantile is the value below which the part q of the series lies, between neighbours by linear
// interpolation; q is 0 to 1. NaN of an empty series.
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

// Over divides the i-th value by the i-th of the other series. Pairs that lack a partner are left
// out, so the two should come from the same rounds.
func (s Series) Over(other Series) Series {
	ratios := make(Series, min(len(s), len(other)))
	for i := range ratios {
		ratios[i] = s[i] / other[i]
	}
	return ratios
}

// Plus is the series with the same added to each value.
func (s Series) Plus(more float64) Series {
	sums := slices.Clone(s)
	for i := range sums {
		sums[i] += more
	}
	return sums
}

// Constant is a series of n equal values, such as a target.
func Constant(value float64, n int) Series { return slices.Repeat(Series{value}, n) }
