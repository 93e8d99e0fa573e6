package recovery

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/fold"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// restoreOwn restores the state of a session of this engine.
func (r restorer) restoreOwn() (Result, error) {
	steps, tail := r.order()
	read := fold.Replay{Plan: r.Plan}
	steps = run(steps)
	read.Run(steps)
	if tail.Message != "" {
		read.AddFault(tail.Message, tail.Until)
	}
	if read.State.RunID == "" && len(read.Faults) == 0 {
		read.AddFault("the beginning of the run is missing", tail.Until)
	}
	events := make([]event.Event, len(steps))
	for i, s := range steps {
		events[i] = s.Event
	}
	res := Result{Reason: "the journal was damaged", State: read.State}
	for _, x := range read.Faults {
		res.Lost = append(res.Lost, x.Message)
	}
	st, later := r.later(read, steps)
	switch {
	case later:
		res.State = st
		if len(res.Lost) == 0 {
			res.Lost = []string{fmt.Sprintf("the journal ends at event %d, state.json knows event %d", tail.Until, r.Document.Scheduler.Seq)}
		}
	case len(read.Faults) == 0, tail.Message == "" && read.State.Status.Final() && ended(steps):
		res = Result{Complete: true, State: read.State}
		r.addHistory(&res, events)
		return res, nil
	default:
		if res.Doubt = read.OpenFault(); res.Doubt == "" {
			break
		}
		guess, err := r.build(newSummary(events))
		if err != nil {
			return Result{}, err
		}
		res.State = merged(read.Exact, guess)
	}
	if res.State.Providers == nil {
		res.State.Providers = r.Providers
	}
	err := r.complete(&res, events)
	return res, err
}

// ended reports whether the journal ends with the end of the run. Then missing lines before the end do not matter.
func ended(steps []fold.Step) bool {
	for i := len(steps) - 1; i >= 0; i-- {
		switch e := steps[i].Event; {
		case e.Type == event.SessionComplete, e.Type == event.SessionAborted:
			return true
		case !e.Type.Informative() && e.Type != event.KernelStart:
			return false
		}
	}
	return false
}

// later returns the state in state.json with the events that were journaled after it. It returns false if that state
// does not match the plan, is not newer than a journal without faults, or does not cover all faults.
func (r restorer) later(read fold.Replay, steps []fold.Step) (state.State, bool) {
	st := r.Document.Scheduler
	if st == nil || !matchesPlan(r.Plan, *st) || r.PlanSHA256 != "" && st.PlanSHA256 != r.PlanSHA256 {
		return state.State{}, false
	}
	rest := fold.Replay{Plan: r.Plan, State: *st}
	var end int64
	for _, s := range steps {
		if end = s.Event.Seq; end <= st.Seq {
			continue
		}
		rest.Run([]fold.Step{s})
	}
	if len(read.Faults) == 0 && (st.Seq <= end || fold.Equal(read.State, *st)) {
		return state.State{}, false
	}
	covered := !slices.ContainsFunc(read.Faults, func(x fold.Fault) bool { return st.Seq < x.Until })
	return rest.State, covered && len(rest.Faults) == 0
}

// Last returns the highest event number and epoch in the readable lines and state.json.
func (f *SessionFiles) Last() (seq int64, epoch int) {
	steps, _ := f.order()
	for _, s := range steps {
		seq, epoch = s.Event.Seq, max(epoch, s.Event.Epoch)
	}
	for i := range f.Lines { // lines of the Bash engine have no number, so their positions count
		if f.readable(&f.Lines[i]) {
			seq = max(seq, int64(i)+1)
		}
	}
	if st := f.Document.Scheduler; st != nil {
		seq, epoch = max(seq, st.Seq), max(epoch, st.Epoch)
	}
	return seq, epoch
}

// merged returns the guess from the readable lines, with the certain facts from before the first fault.
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

// Restore rebuilds the session's state from its files. The error says why nothing can be restored.
func (f *SessionFiles) Restore(b Params) (Result, error) {
	r := restorer{f, b}
	switch f.Origin() {
	case Ours:
		return r.restoreOwn()
	case Bash:
		return r.restoreBash()
	default:
		return Result{}, errors.New("neither events.jsonl nor state.json has data of the session")
	}
}
