package recovery

import (
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxBridge is the maximum number of scheduler events that are assumed lost between two
// readable events.
const maxBridge = 8

// fault is a place in a journal where something is missing or wrong.
type fault struct {
	message string
	// until is the number of the last event that may be lost there.
	until int64
	// open reports that no later event shows where the run was.
	open bool
}

// replay folds a journal over its faults.
type replay struct {
	plan   *plan.Plan
	state  state.State
	exact  state.State // before the first fault
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
		r.addFault(fmt.Sprintf("line %d (%s) says what the scheduler cannot have said", s.line, e.Type), e.Seq)
		return
	}
	next, err := progress.Apply(r.plan, r.state, e)
	switch {
	case err == nil:
		r.state = next
		if telling(e) {
			r.close()
		}
	case e.Type.Informative() || e.Type == event.Control || e.Epoch < r.state.Epoch:
	case errors.Is(err, progress.ErrInvalidTransition) && r.reach(e):
		if r.open() == "" {
			r.addFault(fmt.Sprintf("what came before line %d (%s) is missing", s.line, e.Type), e.Seq-1)
		}
		if telling(e) {
			r.close()
		}
	default:
		r.addFault(fmt.Sprintf("line %d (%s) does not follow from those before it", s.line, e.Type), e.Seq)
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

// decided reports whether the scheduler would decide the same transition. If the scheduler is not about to decide one,
// it reports true.
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

// close closes the faults found so far. Later events of other providers do not show which events of a parallel block
// are lost.
func (r *replay) close() {
	if n := r.plan.Find(r.state.At); n != nil && n.Kind == plan.KindParallel {
		return
	}
	for i := range r.faults {
		r.faults[i].open = false
	}
}

// telling reports whether an applied event shows where the run was.
func telling(e event.Event) bool {
	switch e.Type {
	case event.IterationStart, event.AttemptStart, event.Retry, event.AttemptComplete, event.IterationComplete, event.Decision, event.StrategyQuestion, event.StrategyAnswer,
		event.RunStart, event.NodeStart, event.NodeComplete, event.SessionStart, event.SessionImported:
		return true
	case event.Error:
		return e.Key != ""
	default:
		return false
	}
}

// reach tries to make an event fit that does not follow from the state: it assumes lost the events that the
// scheduler would decide next, and sets the state from the event's own cursor and key. It reports success.
func (r *replay) reach(e event.Event) bool {
	if r.atBlock() {
		return false
	}
	st := r.state
	for range maxBridge {
		for _, from := range []func(state.State, event.Event) (state.State, bool){keep, r.forge} {
			before, ok := from(st, e)
			if !ok {
				continue
			}
			if next, err := progress.Apply(r.plan, before, e); err == nil {
				r.state = next
				return true
			}
		}
		var moved bool
		if st, moved = r.bridge(st, e); !moved {
			return false
		}
	}
	return false
}

func (r *replay) atBlock() bool {
	n := r.plan.Find(r.state.At)
	return n != nil && n.Kind != plan.KindStage
}

func keep(st state.State, _ event.Event) (state.State, bool) { return st, true }

// bridge applies the event that the scheduler gives next, or continues a stopped run.
func (r *replay) bridge(st state.State, e event.Event) (state.State, bool) {
	lost := event.New(event.SessionResumed, nil, "", event.SessionResumedData{})
	if st.Status != state.Paused && st.Status != state.Failed {
		cmds := schedule.Decide(r.plan, st)
		if len(cmds) != 1 || cmds[0].Event == nil || cmds[0].Event.Type == event.SessionPaused {
			return st, false
		}
		lost = *cmds[0].Event
	}
	lost.Time = e.Time
	next, err := progress.Apply(r.plan, st, lost)
	return next, err == nil
}

// forge returns the state with the current stage's loop set to the position that the event implies. It refuses a node with
// a contract, whose measurements cannot be reconstructed.
func (r *replay) forge(st state.State, e event.Event) (state.State, bool) {
	n, running := st.Nodes[st.At]
	if node := r.plan.Find(st.At); !running || n.Status != state.NodeRunning || node == nil || node.HasContract() {
		return st, false
	}
	st = st.Clone()
	n = st.Nodes[st.At]
	if e.Type == event.NodeComplete {
		if e.Cursor == nil || e.Cursor.NodePath != st.At || max(e.Cursor.Visit, 1) != n.Visit || max(e.Cursor.Run, 1) != max(st.Run, 1) {
			return st, false
		}
		n.Loop.Iteration, n.Loop.Completed = e.Cursor.Iteration, max(n.Loop.Completed, e.Cursor.Iteration)
		settleAs(&n.Loop, e)
		st.Nodes[st.At] = n
		return st, true
	}
	kind, at, i, ok := e.Key.Parse()
	if !ok || at.Branch != "" || at.Node != st.At || at.Visit != n.Visit || at.Run != n.Run {
		return st, false
	}
	if !place(&n.Loop, e.Type, kind, at.Iteration, i) {
		return st, false
	}
	st.Nodes[st.At] = n
	return st, true
}

func settleAs(l *state.Loop, e event.Event) {
	d, err := event.Decode[event.NodeCompleteData](e)
	if err != nil {
		return
	}
	l.Phase, l.Attempt, l.IterationStartedAt = state.PhaseSettled, 0, nil
	l.Outcome, l.Reason, l.Failure = d.Outcome, d.Reason, d.Failure
	if d.Outcome != string(plan.OutcomeSuccess) && d.Failure != nil && d.Failure.Attempt > 0 {
		l.Completed = max(0, l.Iteration-1) // the attempt failed
	}
}

// place sets the loop to the position at which the n-th event of this kind for the iteration is due.
func place(l *state.Loop, t event.Type, kind event.KeyKind, iteration, n int) bool {
	done := iteration
	phase, attempt, round := state.PhaseDecide, 0, 0
	switch {
	case t == event.IterationStart || t == event.AttemptStart || t == event.Retry:
		phase, done, attempt = state.PhaseReady, iteration-1, n-1
	case kind == event.KeyAttempt:
		phase, done, attempt = state.PhaseAttempt, iteration-1, n
	case t == event.Decision:
		round = n - 1
	case t == event.StrategyAnswer:
		phase, round = state.PhaseAsking, n-1
	default:
		return false
	}
	if done < l.Completed {
		return false
	}
	if done != l.Completed { // facts of another iteration do not apply to this one
		l.Hint, l.Result, l.Checkpoint, l.Calls = "", nil, nil, nil
	}
	l.Phase, l.Iteration, l.Completed, l.Attempt, l.Round = phase, iteration, done, attempt, round
	switch {
	case t == event.IterationStart:
		l.Iteration = done
	case t == event.AttemptStart:
		l.Check = state.CheckPassed
	case done > 0 || kind == event.KeyAttempt:
		l.Check = ""
	}
	l.Outcome, l.Reason, l.Failure = "", "", nil
	return true
}
