package recovery

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// restoreBash returns the state of a session of the Bash engine: from its events, or from state.json if there are none.
// state.json completes the events, because the Bash engine writes that file before the event of an iteration's end.
func (r restorer) restoreBash() (Result, error) {
	res := Result{Reason: "written by the Bash engine"}
	events, doubt := r.bashEvents(&res)
	if r.DocumentFault != "" {
		res.Lost, res.Doubt = append(res.Lost, r.DocumentFault), doubt
		if len(events) == 0 {
			return res, fmt.Errorf("%s, and no event can be read", r.DocumentFault)
		}
	}
	o := newSummary(events)
	switch {
	case len(events) == 0:
		o = r.documented()
	case r.DocumentFault == "":
		r.correct(o)
	}
	var err error
	if res.State, err = r.build(o); err != nil {
		return res, err
	}
	err = r.complete(&res, events)
	return res, err
}

// bashEvents returns the events of the readable lines. doubt says why events may be missing.
func (r restorer) bashEvents(res *Result) (events []event.Event, doubt string) {
	if r.Legacy {
		return nil, ""
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		if r.readable(l) {
			events, doubt = append(events, l.Event), ""
			continue
		}
		fault := fmt.Sprintf("line %d cannot be read", l.Number)
		if res.Lost = append(res.Lost, fault); !l.Torn {
			doubt = fault + ", and no later line shows its content"
		}
	}
	return events, doubt
}

// documented returns the summary that state.json alone gives.
func (r restorer) documented() *summary {
	d := &r.Document
	o := &summary{mode: r.mode(), started: parseTime(d.StartedAt), nodes: map[string]*work{}}
	o.last = o.started
	for _, s := range d.Stages {
		if s.Index < 0 || s.Index >= len(r.Plan.Nodes) {
			continue
		}
		at := parseTime(s.Timestamp)
		n := &r.Plan.Nodes[s.Index]
		w := &work{visit: 1, started: at, ended: at, done: s.Status == string(state.NodeComplete), providers: map[string]*branch{}}
		if w.completed = r.iterationCount(n, time.Time{}); w.completed == 0 && w.done {
			w.completed = r.iterationsAt(event.Location{Node: n.Path, Visit: 1, Run: 1})
		}
		w.iteration = w.completed
		o.nodes[n.Path] = w
	}
	if d.CurrentStage >= 0 && d.CurrentStage < len(r.Plan.Nodes) {
		n := &r.Plan.Nodes[d.CurrentStage]
		o.at = n.Path
		w := o.nodes[n.Path]
		if w == nil {
			w = &work{visit: 1, started: o.started, providers: map[string]*branch{}}
			o.nodes[n.Path] = w
		}
		if n.Kind == plan.KindStage {
			w.completed, w.iteration = max(d.IterationCompleted, 0), max(d.IterationCompleted, 0)
			if d.IterationStarted != nil {
				w.iteration = max(d.Iteration, w.completed)
			}
		} else {
			r.documentedProviders(n, w)
		}
	}
	r.end(o)
	return o
}

// documentedProviders adds the progress in the state files of a block's providers to w.
func (r restorer) documentedProviders(n *plan.Node, w *work) {
	for i := range n.Providers {
		id := n.Providers[i].ID()
		v := r.providerView(event.Location{Node: n.Path + ".0", Visit: 1, Run: 1, Branch: id})
		if v.Session != r.Dir.Session() || v.Status == "pending" {
			continue
		}
		b := &branch{started: parseTime(v.StartedAt), stages: map[int]*work{}, done: v.Status == "complete"}
		for i, s := range v.Stages {
			b.stages[i] = &work{completed: max(s.Iterations, 0), iteration: s.Iterations}
		}
		if b.stage = len(v.Stages); b.stage < len(n.Stages) && !b.done {
			b.stages[b.stage] = &work{completed: max(v.IterationCompleted, 0), iteration: max(v.Iteration, v.IterationCompleted, 0)}
		}
		if v.Status == string(state.NodeFailed) {
			b.failed = failed(facts{Message: v.Error, Stage: v.CurrentStageName}, v.Iteration)
		}
		w.providers[id] = b
	}
}

// correct completes the summary of the events with the parts of state.json that belong to the same run of the pipeline.
func (r restorer) correct(o *summary) {
	for i := range r.Plan.Nodes {
		n := &r.Plan.Nodes[i]
		if w := o.nodes[n.Path]; w != nil {
			w.completed = max(w.completed, r.iterationCount(n, o.started))
		}
	}
	for _, s := range r.Document.Stages {
		current := r.Plan.Index(o.at)
		at := parseTime(s.Timestamp)
		if s.Index < 0 || s.Index >= len(r.Plan.Nodes) || s.Index < current || at.Before(o.started.Truncate(time.Second)) {
			continue
		}
		n := &r.Plan.Nodes[s.Index]
		w := o.nodes[n.Path]
		if w == nil {
			w = &work{visit: 1, started: at, completed: r.iterationCount(n, o.started), providers: map[string]*branch{}}
			o.nodes[n.Path] = w
		}
		o.at = n.Path
		if s.Status == string(state.NodeComplete) && !w.done && w.iteration <= w.completed {
			w.done, w.ended = true, at
		}
	}
	r.end(o)
}

// end adds the end of the session that state.json records to the summary, if no event is later.
func (f *SessionFiles) end(o *summary) {
	d := &f.Document
	over := func(at string) bool { return !parseTime(at).Before(o.last.Truncate(time.Second)) }
	switch {
	case d.Status == string(state.Completed) && over(d.CompletedAt):
		o.complete, o.last = true, parseTime(d.CompletedAt)
		o.reason = cmp.Or(o.reason, d.CompletionReason)
	case d.Status == string(state.Failed) && over(d.FailedAt) && o.at != "":
		w := o.nodes[o.at]
		if w == nil || w.done {
			return
		}
		w.ended = parseTime(d.FailedAt)
		message := ""
		if d.Error != nil {
			message = d.Error.Message
		}
		if w.failed == nil {
			w.failed = failed(facts{Message: message}, d.Iteration)
		}
	}
}

// iterationCount returns the number of a stage's last iteration in the history since a time. The history of a session
// that ran twice in one directory has both runs.
func (f *SessionFiles) iterationCount(n *plan.Node, since time.Time) int {
	last := 0
	for _, it := range f.Document.History {
		if (it.Stage == n.ID || f.Document.Type == "loop") && !parseTime(it.Timestamp).Before(since.Truncate(time.Second)) {
			last = it.Iteration
		}
	}
	return max(0, last)
}

// complete adds the history and checks that the restored state matches the plan.
func (r restorer) complete(res *Result, events []event.Event) error {
	r.addHistory(res, events)
	if !matchesPlan(r.Plan, res.State) {
		return errors.New("the session's files do not match plan.json")
	}
	return nil
}

// addHistory adds the history: from state.json if it is of the same run and has enough iterations, else from the
// events.
func (r restorer) addHistory(res *Result, events []event.Event) {
	var err error
	if res.History, err = statefile.RebuildHistory(r.Dir, r.Plan, events); err != nil {
		res.Lost = append(res.Lost, "the history of an earlier import cannot be read")
	}
	if d := &r.Document; (d.RunID == "" || d.RunID == res.State.RunID) && len(res.History) <= len(d.History) {
		res.History = d.History
	}
}

// parseTime parses an RFC 3339 time. It returns the zero time for an invalid text.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
