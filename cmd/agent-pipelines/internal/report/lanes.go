package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Lane is a row of the timeline: a visit of a node, or the work of a provider on a stage of a parallel block.
type Lane struct {
	Name       string
	Start, End time.Time // End is zero before the end
	Outcome    string
	Spans      []Span
	dropped    int // number of dropped spans
	at         event.Location
}

// Span is an attempt.
type Span struct {
	Start, End time.Time // End is zero before the end
	Bad        bool      // it failed, or its outcome is not success
	Iteration  int
}

// lanes holds the lanes of a session in the order of their begin.
type lanes struct {
	by      map[event.Location]*Lane // without step and iteration
	list    []*Lane
	dropped int
	gaps    []Span // in which no kernel held the session
}

// observe adds the next entry of the timeline.
func (l *lanes) observe(e timeline.Entry) {
	if !e.IdleSince.IsZero() {
		l.addGap(e.IdleSince, e.Time)
	}
	switch {
	case e.Type == event.NodeStart && e.Cursor != nil:
		l.lane(e)
	case e.Type == event.IterationStart || e.Retry != nil:
		l.begin(e)
	case e.Completed:
		l.end(e, Iteration{e.Iteration}.Outcome() != "success")
	case e.Failure != nil:
		l.end(e, true)
	case e.Provider != nil:
		l.done(e)
	case e.NodeEnd != nil:
		lane := l.lane(e)
		lane.End, lane.Outcome = e.Time, cmp.Or(e.NodeEnd.Outcome, e.NodeEnd.Status)
		lane.cut(e.Time)
	}
}

func (l *lanes) addGap(from, to time.Time) {
	if len(l.gaps) < maxGaps {
		l.gaps = append(l.gaps, Span{Start: from, End: to})
	}
	for _, lane := range l.by { // which were cut off
		lane.cut(from)
	}
}

// cut ends the current span.
func (l *Lane) cut(at time.Time) {
	if n := len(l.Spans); n > 0 && l.Spans[n-1].End.IsZero() {
		l.Spans[n-1].End, l.Spans[n-1].Bad = at, true
	}
}

// lane returns the lane of an entry. Steps share the lane of their node.
func (l *lanes) lane(e timeline.Entry) *Lane {
	at := e.Location
	at.Step, at.Iteration = "", 0
	if lane := l.by[at]; lane != nil {
		return lane
	}
	lane := &Lane{Name: where(e.Name, at), Start: e.Time, at: at}
	l.by[at] = lane
	l.list = append(l.list, lane)
	if len(l.list) > 2*maxLanes {
		l.dropped += maxLanes
		l.list = slices.Clone(l.list[maxLanes:])
	}
	if len(l.by) > 8*maxLanes {
		for at, old := range l.by {
			if !old.End.IsZero() {
				delete(l.by, at)
			}
		}
	}
	return lane
}

// done ends the work of a provider in a parallel block.
func (l *lanes) done(e timeline.Entry) {
	for _, lane := range l.by {
		if lane.at.Branch == e.Location.Branch && lane.at.Branch != "" && lane.at.Outer() == e.Location.Node && lane.End.IsZero() {
			lane.End, lane.Outcome = e.Time, e.Provider.Status
			lane.cut(e.Time)
		}
	}
}

func (l *lanes) begin(e timeline.Entry) {
	lane := l.lane(e)
	lane.End = time.Time{} // a resume continues a lane that had ended
	lane.cut(e.Time)
	if len(lane.Spans) >= 2*maxSpans {
		lane.dropped += maxSpans
		lane.Spans = slices.Clone(lane.Spans[maxSpans:])
	}
	lane.Spans = append(lane.Spans, Span{Start: e.Time, Iteration: e.Location.Iteration})
}

func (l *lanes) end(e timeline.Entry, bad bool) {
	lane := l.lane(e)
	if n := len(lane.Spans); n > 0 && lane.Spans[n-1].End.IsZero() {
		lane.Spans[n-1].End, lane.Spans[n-1].Bad = e.Time, bad
	}
}
