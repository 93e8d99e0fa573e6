package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Iteration is a row of the table of iterations.
type Iteration struct{ *timeline.Iteration }

// Outcome returns the outcome of the iteration, "failed" after a failed attempt.
func (i Iteration) Outcome() string {
	switch {
	case i.Result != nil:
		return cmp.Or(i.Result.Outcome, "success")
	case i.Failure != nil:
		return "failed"
	default:
		return "running"
	}
}

// Summary returns the agent's summary and the message of the outcome.
func (i Iteration) Summary() string {
	if i.Result == nil {
		return ""
	}
	text := event.Truncate(i.Result.Summary, 1<<10)
	if i.Result.Message != "" {
		text = strings.TrimPrefix(text+" — "+event.Truncate(i.Result.Message, 1<<10), " — ")
	}
	return text
}

// Next returns the decision after the iteration.
func (i Iteration) Next() string {
	d := i.Decision
	if d == nil {
		return ""
	}
	reason := event.Truncate(d.Reason, 1<<10)
	if d.Strategy == plan.TypeFixed && strings.HasPrefix(reason, "Completed ") { // the row has the numbers
		reason = ""
	}
	return strings.TrimSuffix(d.Action+": "+reason, ": ")
}

// bounded keeps the first and the last elements of a sequence.
type bounded[T any] struct {
	firsts, lasts int // maximum numbers of kept elements
	first, last   []T
	dropped       int // number of dropped elements
}

func (b *bounded[T]) add(v T) {
	if len(b.first) < b.firsts {
		b.first = append(b.first, v)
		return
	}
	b.last = append(b.last, v)
	if len(b.last) >= 2*b.lasts { // rarely, so that the copy costs little
		b.dropped += len(b.last) - b.lasts
		b.last = slices.Clone(b.last[len(b.last)-b.lasts:])
	}
}

// all returns the kept elements, and the number of dropped elements.
func (b *bounded[T]) all() (kept []T, left int) {
	drop := max(len(b.last)-b.lasts, 0)
	return slices.Concat(b.first, b.last[drop:]), b.dropped + drop
}

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
	every       int // one of this number of points is kept; 0 means 1
	since       int
	tokens, usd bool // whether any call reported them
}

func (s *series) add(at time.Time, u event.Usage) {
	if n := event.Sum(u.InputTokens, u.OutputTokens); n != nil {
		s.sum.tokens += *n
		s.tokens = true
	}
	if u.CostUSD != nil {
		s.sum.cost += *u.CostUSD
		s.usd = true
	}
	s.sum.at = at
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
	s.points, s.every = kept, 2*max(s.every, 1)
}

// all returns the points, including the last one.
func (s *series) all() []point {
	if n := len(s.points); n == 0 || s.points[n-1] != s.sum {
		return append(s.points[:n:n], s.sum)
	}
	return s.points
}

// These are the largest numbers of parts of a drawing.
const (
	maxNodeRows = 60
	maxSpans    = 300 // of a row
	maxGaps     = 200
)

// nodeRow is a row of the timeline: a visit of a node, or the work of a provider on a stage of a parallel block.
type nodeRow struct {
	name       string
	start, end time.Time // end is zero before the end
	outcome    string
	spans      bounded[span]
}

// span is an attempt, or a time in which no kernel held the session.
type span struct {
	start, end time.Time // end is zero before the end
	bad        bool      // it failed, or its outcome is not success
	iteration  int
}

// stop ends the current attempt.
func (r *nodeRow) stop(at time.Time, bad bool) {
	if n := len(r.spans.last); n > 0 && r.spans.last[n-1].end.IsZero() {
		r.spans.last[n-1].end, r.spans.last[n-1].bad = at, bad
	}
}

// finish ends the work of the row.
func (r *nodeRow) finish(at time.Time, outcome string) {
	r.end, r.outcome = at, outcome
	r.stop(at, true)
}

// nodeRows holds the rows of a session in the order in which they began.
type nodeRows struct {
	by   map[event.Location]*nodeRow // by location without step and iteration
	list bounded[*nodeRow]
	gaps []span // in which no kernel held the session
}

// observe adds the next entry of the timeline.
func (r *nodeRows) observe(e timeline.Entry) {
	if !e.IdleSince.IsZero() {
		r.addGap(e.IdleSince, e.Time)
	}
	switch {
	case e.Type == event.NodeStart && e.Cursor != nil:
		r.row(e)
	case e.Type == event.IterationStart || e.Retry != nil:
		row := r.row(e)
		row.end = time.Time{} // a resume continues a row that had ended
		row.stop(e.Time, true)
		row.spans.add(span{start: e.Time, iteration: e.Location.Iteration})
	case e.Completed:
		r.row(e).stop(e.Time, Iteration{e.Iteration}.Outcome() != "success")
	case e.Failure != nil:
		r.row(e).stop(e.Time, true)
	case e.Provider != nil:
		for at, row := range r.by {
			if at.Branch == e.Location.Branch && at.Branch != "" && at.Outer() == e.Location.Node && row.end.IsZero() {
				row.finish(e.Time, e.Provider.Status)
			}
		}
	case e.NodeEnd != nil:
		r.row(e).finish(e.Time, cmp.Or(e.NodeEnd.Outcome, e.NodeEnd.Status))
	}
}

func (r *nodeRows) addGap(from, to time.Time) {
	if len(r.gaps) < maxGaps {
		r.gaps = append(r.gaps, span{start: from, end: to})
	}
	for _, row := range r.by { // the gap cuts off all rows
		row.stop(from, true)
	}
}

// row returns the row of an entry. Steps share the row of their node.
func (r *nodeRows) row(e timeline.Entry) *nodeRow {
	at := e.Location
	at.Step, at.Iteration = "", 0
	if row := r.by[at]; row != nil {
		return row
	}
	one := &nodeRow{name: locationText(e.Name, at), start: e.Time, spans: bounded[span]{lasts: maxSpans}}
	r.by[at] = one
	r.list.add(one)
	if len(r.by) > 8*maxNodeRows {
		for at, old := range r.by {
			if !old.end.IsZero() {
				delete(r.by, at)
			}
		}
	}
	return one
}
