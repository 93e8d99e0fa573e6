package recovery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// replay folds a journal, skips its faults and collects them.
type replay struct {
	plan   *plan.Plan
	state  state.State
	exact  state.State // before the first fault
	unread error       // of the first event that cannot be read
	faults []fault
}

func (r *replay) run(steps []step) {
	for _, s := range steps {
		if s.gap != "" {
			r.addFault(s.gap, s.event.Seq-1)
		}
		r.apply(s)
	}
}

func (r *replay) addFault(message string, until int64) {
	if len(r.faults) == 0 {
		r.exact = r.state
	}
	r.faults = append(r.faults, fault{message, until, true})
}

func (r *replay) apply(s step) {
	e := s.event
	if other := r.state.RunID; other != "" && e.RunID != "" && e.RunID != other && e.Type != event.SessionStart && e.Type != event.SessionImported {
		r.addFault(fmt.Sprintf("line %d belongs to another run, whose beginning is missing", s.line), e.Seq)
		return
	}
	if e.Type == event.NodeComplete && !decided(r.plan, r.state, e) {
		r.addFault(fmt.Sprintf("line %d (%s) contradicts the decisions of the scheduler", s.line, e.Type), e.Seq)
		return
	}
	next, err := progress.Apply(r.plan, r.state, e)
	switch {
	case err == nil:
		r.state = next
		if slices.Contains(telling, e.Type) || e.Type == event.Error && e.Key != "" {
			r.close()
		}
	case !errors.Is(err, progress.ErrInvalidTransition):
		r.unread = cmp.Or(r.unread, err)
		r.addFault(fmt.Sprintf("line %d (%s) does not follow from the lines before it", s.line, e.Type), e.Seq)
	case e.Type.Informative() || e.Type == event.Control || e.Epoch < r.state.Epoch:
	case r.open() == "": // otherwise the open fault is the reason
		r.addFault(fmt.Sprintf("line %d (%s) does not follow from the lines before it", s.line, e.Type), e.Seq)
	}
}

// open returns the message of the first open fault, "" for none.
func (r *replay) open() string {
	for _, x := range r.faults {
		if x.open {
			return x.message
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
func (r *replay) close() {
	if n := r.plan.Find(r.state.At); n != nil && n.Kind == plan.KindParallel {
		return
	}
	for i := range r.faults {
		r.faults[i].open = false
	}
}

// telling are the types of events that are valid only at the right place in the run. If such an event can be applied,
// the missing events before it changed nothing.
var telling = []event.Type{
	event.IterationStart, event.AttemptStart, event.Retry, event.AttemptComplete, event.IterationComplete, event.Decision, event.StrategyQuestion, event.StrategyAnswer,
	event.RunStart, event.NodeStart, event.NodeComplete, event.SessionStart, event.SessionImported,
}
