package report

import "slices"

// bounded keeps the first and the last elements of a sequence.
type bounded[T any] struct {
	most    int // number of kept elements: a fifth of them the first, the others the last
	first   []T
	last    []T
	dropped int // number of dropped elements
}

func (b *bounded[T]) add(v T) {
	if len(b.first) < b.most/5 {
		b.first = append(b.first, v)
		return
	}
	b.last = append(b.last, v)
	if limit := b.most - b.most/5; len(b.last) >= 2*limit { // rarely, so that the copy costs little
		b.dropped += len(b.last) - limit
		b.last = slices.Clone(b.last[len(b.last)-limit:])
	}
}

// all returns the kept elements, and the position and the number of the dropped ones.
func (b *bounded[T]) all() (kept []T, gap, left int) {
	last, left := b.last, b.dropped
	if limit := b.most - b.most/5; len(last) > limit {
		left += len(last) - limit
		last = last[len(last)-limit:]
	}
	return slices.Concat(b.first, last), len(b.first), left
}
