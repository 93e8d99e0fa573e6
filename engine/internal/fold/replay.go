package fold

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Replay folds a journal, skips its faults and collects them. Its zero value with a Plan is ready for use.
type Replay struct {
	Plan   *plan.Plan
	State  state.State
	Exact  state.State // before the first fault
	Unread error       // of the first event that cannot be read
	Faults []Fault
}

// Step is an event of a journal of this engine, with its line.
type Step struct {
	Event event.Event
	Line  int
	// Gap names the events that are missing before this event, "" for none.
	Gap string
}

// Fault is a place in a journal where something is missing or wrong.
type Fault struct {
	Message string
	// Until is the number of the last event that may be lost at this place.
	Until int64
	// Open reports whether no later event shows where the run was.
	Open bool
}

// Run applies the steps in order. A gap before a step is a fault.
func (r *Replay) Run(steps []Step) {
	for _, s := range steps {
		if s.Gap != "" {
			r.AddFault(s.Gap, s.Event.Seq-1)
		}
		r.Apply(s)
	}
}

// AddFault adds an open fault, at which the events up to number until may be lost.
func (r *Replay) AddFault(message string, until int64) {
	if len(r.Faults) == 0 {
		r.Exact = r.State
	}
	r.Faults = append(r.Faults, Fault{message, until, true})
}

// Apply applies the event of a step. It skips an event that does not follow from earlier events. It adds a fault for
// the event, unless the event only informs, is outdated, or follows an open fault.
func (r *Replay) Apply(s Step) {
	e := s.Event
	if other := r.State.RunID; other != "" && e.RunID != "" && e.RunID != other && e.Type != event.SessionStart && e.Type != event.SessionImported {
		r.AddFault(fmt.Sprintf("line %d belongs to another run, whose beginning is missing", s.Line), e.Seq)
		return
	}
	if e.Type == event.NodeComplete && !decided(r.Plan, r.State, e) {
		r.AddFault(fmt.Sprintf("line %d (%s) contradicts the decisions of the scheduler", s.Line, e.Type), e.Seq)
		return
	}
	next, err := progress.Apply(r.Plan, r.State, e)
	switch {
	case err == nil:
		r.State = next
		if slices.Contains(telling, e.Type) || e.Type == event.Error && e.Key != "" {
			r.close()
		}
	case !errors.Is(err, progress.ErrInvalidTransition):
		r.Unread = cmp.Or(r.Unread, err)
		r.AddFault(fmt.Sprintf("line %d (%s) does not follow from the lines before it", s.Line, e.Type), e.Seq)
	case e.Type.Informative() || e.Type == event.Control || e.Epoch < r.State.Epoch:
	case r.OpenFault() == "": // otherwise the open fault is the reason
		r.AddFault(fmt.Sprintf("line %d (%s) does not follow from the lines before it", s.Line, e.Type), e.Seq)
	}
}

// OpenFault returns the message of the first open fault, "" for none.
func (r *Replay) OpenFault() string {
	for _, x := range r.Faults {
		if x.Open {
			return x.Message
		}
	}
	return ""
}

// decided reports whether the scheduler would decide the same transition. It also reports true if the scheduler is not
// about to decide a transition.
func decided(p *plan.Plan, st state.State, e event.Event) bool {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return false
	}
	for _, c := range schedule.Decide(p, st) {
		if c.Event == nil || c.Event.Type != event.NodeComplete {
			continue
		}
		want, err := event.Decode[event.NodeCompleteData](*c.Event)
		return err == nil && want.To == d.To && want.Outcome == d.Outcome && want.Status == d.Status
	}
	return true
}

// close closes the faults found so far, except in a parallel block: later events of other providers do not show which
// events of the block are lost.
func (r *Replay) close() {
	if n := r.Plan.Find(r.State.At); n != nil && n.Kind == plan.KindParallel {
		return
	}
	for i := range r.Faults {
		r.Faults[i].Open = false
	}
}

// telling are the types of events that are valid only at the right place in the run. If such an event can be applied,
// the missing events before it changed nothing.
var telling = []event.Type{
	event.IterationStart, event.AttemptStart, event.Retry, event.AttemptComplete, event.IterationComplete, event.Decision, event.StrategyQuestion, event.StrategyAnswer,
	event.RunStart, event.NodeStart, event.NodeComplete, event.SessionStart, event.SessionImported,
}

// Begins reports whether folding restarts at an event.
func Begins(e event.Event) bool {
	return e.RunID != "" && (e.Type == event.SessionStart || e.Type == event.SessionImported)
}

// Equal reports whether two states are equal except for event number and epoch. These may differ, because events that
// only inform may be lost with a crash.
func Equal(a, b state.State) bool {
	a.Seq, b.Seq, a.Epoch, b.Epoch = 0, 0, 0, 0
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
