package recovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// restorer restores the state of a session from its files.
type restorer struct {
	*SessionFiles
	Params
}

// build returns the state that a summary describes. Nodes after the node named last belong to earlier visits and are
// left out.
func (r restorer) build(o *summary) (state.State, error) {
	runID := cmp.Or(o.runID, r.RunID)
	st := state.State{
		Identity: state.Identity{
			Session: r.Dir.Session(), RunID: runID, Mode: cmp.Or(o.mode, r.mode()), Pipeline: o.pipeline,
			SchedulerVersion: r.SchedulerVersion, PlanSHA256: r.PlanSHA256, SkipDelays: r.SkipDelays, Providers: r.Providers,
		},
		Lifecycle: state.Lifecycle{Status: state.Running, StartedAt: o.started},
		Position:  state.Position{Nodes: map[string]state.Node{}},
		RunCounts: state.RunCounts{Run: o.run, Runs: o.runs},
	}
	if d := &r.Document; d.Runs > 1 && cmp.Or(d.RunID, runID) == runID { // session_start may be lost
		st.Run, st.Runs = max(st.Run, 1), max(st.Runs, d.Runs)
	}
	r.countNested(&st)
	if st.Mode != "loop" {
		st.Pipeline = cmp.Or(st.Pipeline, r.Plan.Pipeline.Name)
	}
	if o.at == "" && len(r.Plan.Nodes) > 0 {
		st.At = r.Plan.Nodes[0].Path
	}
	if o.at != "" {
		if err := r.enter(o, &st); err != nil {
			return st, err
		}
	}
	switch {
	case o.complete:
		st.Status, st.Reason, st.EndedAt = state.Completed, o.reason, &o.last
	case o.aborted:
		st.Status, st.Reason, st.EndedAt = state.Aborted, o.reason, &o.last
	}
	return st, nil
}

// enter adds the states of the nodes up to the node that the run is at.
func (r restorer) enter(o *summary, st *state.State) error {
	top, _, nested := strings.Cut(o.at, ".")
	at := r.Plan.Index(top)
	if at < 0 || nested {
		return fmt.Errorf("the journal is at node %s: plan.json has no such node, or it is inside another pipeline", o.at)
	}
	for i := range at + 1 {
		n := &r.Plan.Nodes[i]
		w := o.nodes[n.Path]
		if w == nil { // the journal has lost the node's events
			w = &work{visit: 1, started: o.started, done: i < at}
			w.completed = r.iterationsAt(event.Location{Node: n.Path, Visit: 1, Run: st.Run})
		}
		if i < at {
			w.done, w.failed = true, nil
		}
		ns, err := r.node(n, w, max(st.Run, 1))
		if err != nil {
			return err
		}
		if n.Kind == plan.KindPipeline {
			ns.Run = r.countRuns(n)
		}
		st.Nodes[n.Path] = ns
	}
	n := &r.Plan.Nodes[at]
	switch ns := st.Nodes[n.Path]; ns.Status {
	case state.NodeRunning:
		st.At = n.Path
	case state.NodeFailed:
		st.At, st.Status, st.EndedAt, st.Failure = n.Path, state.Failed, ns.EndedAt, o.nodes[n.Path].failed
	default:
		st.At = r.Plan.Next(n.Path)
	}
	return nil
}

// countNested counts the runs of the nested pipelines so far, in a session whose whole pipeline runs several times:
// their numbers continue.
func (r restorer) countNested(st *state.State) {
	for i := range r.Plan.Nodes {
		n := &r.Plan.Nodes[i]
		if n.Kind != plan.KindPipeline || st.Run < 2 {
			continue
		}
		if st.PriorRuns == nil {
			st.PriorRuns = map[string]int{}
		}
		st.PriorRuns[n.Path] = r.countRuns(n)
	}
}

// countRuns returns the number of runs of a nested pipeline that have a directory.
func (r restorer) countRuns(n *plan.Node) int {
	for made := 0; ; made++ {
		node, err := store.NodeAt(r.Plan, event.Location{Node: n.Path, Run: made + 1})
		if err != nil {
			return made
		}
		if _, err := r.Dir.Stat(string(node)); err != nil {
			return made
		}
	}
}

// mode returns loop or pipeline, for a session without an event that names the mode.
func (f *SessionFiles) mode() string {
	if mode := f.Document.Type; mode == "loop" || mode == "pipeline" {
		return mode
	}
	if _, err := f.Dir.Stat(store.PipelineFile); err == nil {
		return "pipeline"
	}
	return "loop"
}

// node returns the state of a node that was entered.
func (r restorer) node(n *plan.Node, w *work, run int) (state.Node, error) {
	ns := state.Node{NodeProgress: state.NodeProgress{Visit: w.visit, Run: run, Status: state.NodeRunning, StartedAt: w.started}}
	ended := w.ended
	if ended.IsZero() {
		ended = w.started
	}
	switch {
	case w.done:
		ns.Status, ns.Outcome, ns.Reason, ns.EndedAt = state.NodeComplete, string(plan.OutcomeSuccess), w.reason, &ended
	case w.failed != nil:
		ns.Status, ns.Outcome, ns.Reason, ns.EndedAt = state.NodeFailed, string(plan.OutcomeError), w.failed.Message, &ended
	}
	var err error
	if n.Kind != plan.KindStage {
		err = r.branches(n, w, &ns)
		return ns, err
	}
	ns.Loop = newLoop(w, n.Termination)
	err = r.refs(event.Location{Node: n.Path, Visit: ns.Visit, Run: run}, &ns.Loop, &ns.Output)
	return ns, err
}

// newLoop returns the loop of a stage. The strategy is asked (again) about a complete iteration, unless a later
// iteration had begun: then the strategy had decided to continue.
func newLoop(w *work, t plan.Termination) state.Loop {
	l := readyAfter(w.completed, t)
	if w.done {
		l.Check = ""
	}
	limit := t.Max()
	switch {
	case w.done:
		l.Phase, l.Outcome, l.Reason = state.PhaseSettled, string(plan.OutcomeSuccess), w.reason
	case w.failed != nil:
		l.Phase, l.Outcome, l.Reason, l.Failure = state.PhaseSettled, string(plan.OutcomeError), w.failed.Message, w.failed
		if w.iteration > w.completed {
			l.Iteration = w.completed + 1
		}
	case w.completed > 0 && (w.iteration <= w.completed || limit > 0 && w.completed >= limit):
		l.Phase = state.PhaseDecide
	}
	return l
}

// readyAfter returns a loop that waits for the next iteration. With check_before, the strategy must be asked before the
// first iteration.
func readyAfter(completed int, t plan.Termination) state.Loop {
	l := state.Loop{Progress: state.Progress{Phase: state.PhaseReady, Iteration: completed, Completed: completed}}
	if completed == 0 && t.CheckBefore() {
		l.Check = state.CheckDue
	}
	return l
}

// branches adds the states of a block's providers that had begun, and the manifest of a complete block.
func (r restorer) branches(n *plan.Node, w *work, ns *state.Node) error {
	for i := range n.Providers {
		id := n.Providers[i].ID()
		p, begun := w.providers[id]
		if !begun && !w.done {
			continue
		}
		if !begun {
			p = &branch{started: w.started, stages: map[int]*work{}}
		}
		s, err := r.branch(n, id, p, w.done, *ns)
		if err != nil {
			return err
		}
		if ns.Branches == nil {
			ns.Branches = map[string]state.Branch{}
		}
		ns.Branches[id] = s
	}
	at := event.Location{Node: n.Path, Visit: ns.Visit, Run: ns.Run}
	node, err := store.NodeAt(r.Plan, at)
	if err != nil || !w.done || n.Kind != plan.KindParallel {
		return err
	}
	ref, err := r.ref(node.Manifest())
	if err == nil && ref != nil {
		ns.Artifacts = map[string]event.Ref{event.Manifest: *ref}
	}
	return err
}

// branch returns the state of one provider of a block; done says whether the block is complete.
func (r restorer) branch(n *plan.Node, id string, p *branch, done bool, ns state.Node) (state.Branch, error) {
	s := state.Branch{Status: state.NodeRunning, StartedAt: p.started, Stage: min(p.stage, len(n.Stages)-1)}
	done = done || p.done
	if done {
		s.Status, s.Stage = state.NodeComplete, len(n.Stages)-1
	}
	for i := range s.Stage + 1 {
		at := event.Location{Node: fmt.Sprintf("%s.%d", n.Path, i), Visit: ns.Visit, Run: ns.Run, Branch: id}
		w := p.stages[i]
		if w == nil {
			w = &work{completed: r.iterationsAt(at)}
		}
		w.done, w.failed = done || i < s.Stage, p.failed
		if i < s.Stage {
			w.failed = nil
		}
		s.Loop = newLoop(w, n.Stages[i].Termination)
		if w.done {
			reason := r.endedBy(at, n.Stages[i].ID)
			s.Loop.Reason = reason
			s.Done = append(s.Done, state.BranchStage{Iterations: w.completed, Reason: reason})
		}
		var output *event.Ref
		if err := r.refs(at, &s.Loop, &output); err != nil {
			return s, err
		}
	}
	if p.failed != nil && !done {
		s.Status = state.NodeFailed
	}
	return s, nil
}

// endedBy returns max_iterations if the provider's state.json says that the stage ended for this reason, "" otherwise.
// No other reason makes a difference later.
func (r restorer) endedBy(at event.Location, stage string) string {
	for _, s := range r.providerView(at).Stages {
		if s.Name == stage && s.Reason == "max_iterations" {
			return s.Reason
		}
	}
	return ""
}

// providerView returns the readable part of a provider's state.json.
func (r restorer) providerView(at event.Location) statefile.Provider {
	var v statefile.Provider
	node, err := store.ProviderAt(r.Plan, at)
	if err != nil {
		return v
	}
	text, err := r.Dir.Read(node.State(), maxState)
	if err != nil || json.Unmarshal(text, &v) != nil {
		return statefile.Provider{}
	}
	return v
}

// refs fills in the result, the stop hint and the output of the last completed iteration, as far as the files exist.
func (r restorer) refs(at event.Location, l *state.Loop, output **event.Ref) error {
	if l.Completed == 0 {
		return nil
	}
	node, err := store.NodeAt(r.Plan, at)
	if err != nil {
		return err
	}
	it := node.Iteration(l.Completed)
	if l.Result == nil {
		if l.Result, err = r.ref(it.Result()); err != nil {
			return err
		}
	}
	if l.Hint == "" && l.Phase == state.PhaseDecide && r.requestedStop(it) {
		l.Hint = "stop"
	}
	if *output == nil {
		*output, err = r.ref(it.Output())
	}
	return err
}

// requestedStop reports whether the agent of an iteration explicitly asked to stop.
func (f *SessionFiles) requestedStop(it store.Iteration) bool {
	text, err := f.Dir.Read(it.Status(), result.MaxBytes)
	if err != nil {
		return false
	}
	r, err := result.Normalize(nil, text, false)
	return err == nil && r.Ask == "stop"
}

// ref returns a reference to a file, nil if there is none.
func (f *SessionFiles) ref(name string) (*event.Ref, error) {
	ref, err := f.Dir.Ref(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no file
	}
	return &ref, err
}

// iterationsAt counts the iterations that have left a result at a location.
func (r restorer) iterationsAt(at event.Location) int {
	node, err := store.NodeAt(r.Plan, at)
	if err != nil {
		return 0
	}
	for i := 1; ; i++ {
		if _, err := r.Dir.Stat(node.Iteration(i).Result()); err != nil {
			return i - 1
		}
	}
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
	if l.Phase != "" && !l.Phase.Known() || (l.Phase == state.PhaseQuestion || l.Phase == state.PhaseAsking) && l.Question == nil {
		return false
	}
	return l.Completed >= 0 && l.Attempt >= 0 && (l.Iteration == l.Completed || l.Iteration == l.Completed+1)
}
