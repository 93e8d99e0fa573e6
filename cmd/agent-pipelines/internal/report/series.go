package report

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxPoints is how many points a curve has at most. It grows with every one, so that leaving every second one out loses
// nothing that could be seen.
const maxPoints = 400

// point is what was used up to a time.
type point struct {
	at     time.Time
	tokens int64
	cost   float64
}

// series is what was used, summed up.
type series struct {
	points      []point
	sum         point
	every       int // of so many points one is kept
	since       int
	tokens, usd bool // whether anybody said
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

// all are the points, with the last one.
func (s *series) all() []point {
	if n := len(s.points); n == 0 || s.points[n-1] != s.sum {
		return append(s.points[:n:n], s.sum)
	}
	return s.points
}
