package report

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxPoints bounds the points of a curve. Points are dropped evenly, which does not change the shape of a growing curve.
const maxPoints = 400

// point is the consumption until a time.
type point struct {
	at     time.Time
	tokens int64
	cost   float64
}

// series sums the consumption over time.
type series struct {
	points      []point
	sum         point
	every       int // of this number of points one is kept
	since       int
	tokens, usd bool // whether any call reported them
}

func (s *series) add(at time.Time, u event.Usage) {
	for _, n := range []*int64{u.InputTokens, u.OutputTokens} {
		if n != nil {
			s.sum.tokens += *n
			s.tokens = true
		}
	}
	if u.CostUSD != nil {
		s.sum.cost += *u.CostUSD
		s.usd = true
	}
	s.sum.at = at
	if s.every == 0 {
		s.every = 1
	}
	if s.since++; s.since < s.every {
		return
	}
	s.since = 0
	s.points = append(s.points, s.sum)
	if len(s.points) < 2*maxPoints {
		return
	}
	kept := s.points[:0]
	for i := 1; i < len(s.points); i += 2 {
		kept = append(kept, s.points[i])
	}
	s.points, s.every = kept, 2*s.every
}

// all returns the points, including the last one.
func (s *series) all() []point {
	if n := len(s.points); n == 0 || s.points[n-1] != s.sum {
		return append(s.points[:n:n], s.sum)
	}
	return s.points
}
