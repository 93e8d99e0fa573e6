package report

import "slices"

// bounded keeps the first and the last elements of a sequence.
type bounded[T any] struct {
	most  int // number of kept elements: a fifth of them the first, the others the last
	first []T
	last  []T
	left  int // number of dropped elements
}

func (b *bounded[T]) add(v T) {
	if len(b.first) < b.most/5 {
		b.first = append(b.first, v)
		return
	}
	b.last = append(b.last, v)
	if room := b.most - b.most/5; len(b.last) >= 2*room { // rarely, so that the copy costs little
		b.left += len(b.last) - room
		b.last = slices.Clone(b.last[len(b.last)-room:])
	}
}

// all returns the kept elements, and the position and the number of the dropped ones.
func (b *bounded[T]) all() (kept []T, gap, left int) {
	last, left := b.last, b.left
	if room := b.most - b.most/5; len(last) > room {
		left += len(last) - room
		last = last[len(last)-room:]
	}
	return slices.Concat(b.first, last), len(b.first), left
}
