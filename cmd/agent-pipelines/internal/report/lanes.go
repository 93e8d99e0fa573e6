package report

import (
	"slices"
	"time"
)

// Lane is a row of the timeline: a visit of a node, in a parallel block the work of a provider on a stage.
type Lane struct {
	Name       string
	Start, End time.Time // End is zero while it has not ended
	Outcome    string
	Spans      []Span
	left       int // spans left out
	at         place
}

// Span is an attempt.
type Span struct {
	Start, End time.Time // End is zero while it has not ended
	Bad        bool      // it failed, or came to something else than a success
	Iteration  int
}

// lanes are all lanes of a session, in the order in which they began.
type lanes struct {
	by   map[string]*Lane
	list []*Lane
	left int
	gaps []Span // in which nobody held the session
}

func (l *lanes) idle(from, to time.Time) {
	if len(l.gaps) < maxGaps {
		l.gaps = append(l.gaps, Span{Start: from, End: to})
	}
	for _, lane := range l.by { // whatever was cut off
		lane.cut(from)
	}
}

// cut ends what is under way.
func (l *Lane) cut(at time.Time) {
	if n := len(l.Spans); n > 0 && l.Spans[n-1].End.IsZero() {
		l.Spans[n-1].End, l.Spans[n-1].Bad = at, true
	}
}

// of is the lane of a place, made if there is none. Steps share that of their node.
func (l *lanes) of(at time.Time, p place) *Lane {
	p.Step = ""
	if lane := l.by[p.id()]; lane != nil {
		return lane
	}
	lane := &Lane{Name: p.words(), Start: at, at: p}
	l.by[p.id()] = lane
	l.list = append(l.list, lane)
	if len(l.list) > 2*maxLanes {
		l.left += maxLanes
		l.list = slices.Clone(l.list[maxLanes:])
	}
	if len(l.by) > 8*maxLanes {
		for id, old := range l.by {
			if !old.End.IsZero() {
				delete(l.by, id)
			}
		}
	}
	return lane
}

func (l *lanes) open(at time.Time, p place) { l.of(at, p) }

func (l *lanes) close(at time.Time, p place, outcome, status string) {
	p.Iteration = 0
	lane := l.of(at, p)
	lane.End, lane.Outcome = at, outcome
	if outcome == "" {
		lane.Outcome = status
	}
	lane.cut(at)
}

// done ends what a provider of a parallel block did.
func (l *lanes) done(at time.Time, block place, status string) {
	for _, lane := range l.by {
		if lane.at.Branch == block.Branch && lane.at.Branch != "" && lane.at.Outer() == block.Node && lane.End.IsZero() {
			lane.End, lane.Outcome = at, status
			lane.cut(at)
		}
	}
}

func (l *lanes) begin(at time.Time, p place) {
	lane := l.of(at, p)
	lane.End = time.Time{} // it goes on
	lane.cut(at)
	if len(lane.Spans) >= 2*maxSpans {
		lane.left += maxSpans
		lane.Spans = slices.Clone(lane.Spans[maxSpans:])
	}
	lane.Spans = append(lane.Spans, Span{Start: at, Iteration: p.Iteration})
}

func (l *lanes) end(at time.Time, p place, bad bool) {
	lane := l.of(at, p)
	if n := len(lane.Spans); n > 0 && lane.Spans[n-1].End.IsZero() {
		lane.Spans[n-1].End, lane.Spans[n-1].Bad = at, bad
	}
}
