package recovery

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// restoreOwn restores the state of a session of this engine.
func (f *SessionFiles) restoreOwn(b Base) (Result, error) {
	steps, tail, unread := f.order()
	var end int64
	if len(steps) > 0 {
		end = steps[len(steps)-1].event.Seq
	}
	steps = run(steps)
	r := replay{plan: b.Plan}
	r.run(steps)
	if tail != "" {
		r.addFault(tail, end+int64(unread))
	}
	if r.state.RunID == "" && len(r.faults) == 0 {
		r.addFault("the beginning of the run is missing", end)
	}
	res := Result{Reason: "the journal was damaged"}
	for _, x := range r.faults {
		res.Lost = append(res.Lost, x.message)
	}
	st, later := f.later(b, r, steps)
	switch {
	case later:
		res.State = st
		if len(res.Lost) == 0 {
			res.Lost = append(res.Lost, fmt.Sprintf("the journal ends at event %d, state.json knows event %d", end, f.scheduler.Seq))
		}
	case len(r.faults) == 0, tail == "" && r.state.Status.Final() && ended(steps):
		res = Result{Complete: true, State: r.state}
		f.remember(&res, b, stepEvents(steps))
		return res, nil
	default:
		res.Doubt = r.open()
		res.State = r.state
	}
	if res.Doubt != "" {
		st, err := f.outlined(b, stepEvents(steps), "")
		if err != nil {
			return Result{}, err
		}
		res.State = merged(r.exact, st)
	}
	if res.State.Providers == nil {
		res.State.Providers = b.Providers
	}
	err := f.complete(&res, b, stepEvents(steps))
	return res, err
}

// ended reports whether the journal ends with the end of the run. Missing lines before it do not matter.
func ended(steps []step) bool {
	for i := len(steps) - 1; i >= 0; i-- {
		switch e := steps[i].event; {
		case e.Type == event.SessionComplete, e.Type == event.SessionAborted:
			return true
		case !e.Type.Informative() && e.Type != event.KernelStart:
			return false
		}
	}
	return false
}

// later is the state in state.json, and what was journaled after it, if that is sure and further than the
// journal up to its first fault.
func (f *SessionFiles) later(b Base, r replay, steps []step) (state.State, bool) {
	st := f.scheduler
	if st == nil || !matchesPlan(b.Plan, *st) || b.PlanSHA256 != "" && st.PlanSHA256 != b.PlanSHA256 {
		return state.State{}, false
	}
	var end int64
	for _, s := range steps {
		if s.event.RunID != "" && s.event.RunID != st.RunID && s.event.Seq > st.Seq {
			return state.State{}, false // a later run began
		}
		end = s.event.Seq
	}
	if len(r.faults) == 0 && (st.Seq <= end || equalStates(r.state, *st)) {
		return state.State{}, false
	}
	reached := r.exact
	if len(r.faults) == 0 {
		reached = r.state
	}
	if reached.RunID == st.RunID && behind(*st, reached) {
		return state.State{}, false
	}
	for _, x := range r.faults {
		if st.Seq < x.until {
			return state.State{}, false
		}
	}
	rest := replay{plan: b.Plan, state: *st}
	for _, s := range steps {
		if s.event.Seq > st.Seq {
			rest.run([]step{s})
		}
	}
	return rest.state, len(rest.faults) == 0
}

// Last is the last number and epoch that the readable lines and state.json have.
func (f *SessionFiles) Last() (seq int64, epoch int) {
	steps, _, _ := f.order()
	for _, s := range steps {
		seq, epoch = s.event.Seq, max(epoch, s.event.Epoch)
	}
	for i := range f.Lines { // lines of the Bash engine have no number
		if f.readable(&f.Lines[i]) {
			seq = max(seq, int64(i)+1)
		}
	}
	if f.scheduler != nil {
		seq, epoch = max(seq, f.scheduler.Seq), max(epoch, f.scheduler.Epoch)
	}
	return seq, epoch
}

// equalStates reports whether two states say the same of the session. Their numbers may differ: events that only
// inform may be lost with a crash.
func equalStates(a, b state.State) bool {
	a.Seq, b.Seq, a.Epoch, b.Epoch = 0, 0, 0, 0
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// behind reports whether a state lacks iterations that an earlier one has: then it is not what it says.
func behind(later, earlier state.State) bool {
	if later.Run != earlier.Run {
		return later.Run < earlier.Run
	}
	for path, was := range earlier.Nodes {
		is, entered := later.Nodes[path]
		if !entered || is.Visit < was.Visit || is.Visit == was.Visit && is.Loop.Completed < was.Loop.Completed {
			return true
		}
	}
	return false
}

// matchesPlan reports whether a state can belong to a run of the plan.
func matchesPlan(p *plan.Plan, st state.State) bool {
	if st.At != "" && p.Find(st.At) == nil || st.Run < 0 || st.Run > st.Runs {
		return false
	}
	switch st.Status {
	case state.Running, state.Paused, state.Failed, state.Completed, state.Aborted:
	default:
		return false
	}
	for path, ns := range st.Nodes {
		n := p.Find(path)
		if n == nil || ns.Visit < 1 || !validLoop(ns.Loop) || (n.Kind == plan.KindStage) != (ns.Loop.Phase != "") {
			return false
		}
		for id, b := range ns.Branches {
			if n.Branch(id) == nil || b.Stage < 0 || b.Stage >= len(n.Stages) || len(b.Done) > len(n.Stages) || b.Loop.Phase == "" || !validLoop(b.Loop) {
				return false
			}
		}
	}
	return true
}

func validLoop(l state.Loop) bool {
	switch l.Phase {
	case "", state.PhaseReady, state.PhaseAttempt, state.PhaseBackoff, state.PhaseDecide, state.PhaseDelay, state.PhaseCutOff, state.PhaseSettled:
	case state.PhaseQuestion, state.PhaseAsking:
		if l.Question == nil {
			return false
		}
	default:
		return false
	}
	return l.Completed >= 0 && l.Attempt >= 0 && (l.Iteration == l.Completed || l.Iteration == l.Completed+1)
}

// merged is a guess from the readable lines, with the certain facts from before the first fault.
func merged(exact, guess state.State) state.State {
	if exact.RunID != guess.RunID || exact.RunID == "" {
		return guess
	}
	guess.Runs = max(guess.Runs, exact.Runs)
	known := exact.Nodes
	if exact.Run != guess.Run { // of an earlier run of the pipeline
		known = nil
	}
	for path, n := range known {
		g, entered := guess.Nodes[path]
		if !entered || n.Status != state.NodeRunning && n.Visit == g.Visit {
			guess.Nodes[path] = n
		}
	}
	guess.Handled, guess.Usage, guess.SkipDelays = exact.Handled, exact.Usage, exact.SkipDelays
	guess.Providers, guess.Context = exact.Providers, exact.Context
	return guess
}

func stepEvents(steps []step) []event.Event {
	events := make([]event.Event, len(steps))
	for i, s := range steps {
		events[i] = s.event
	}
	return events
}
