package inputs

import (
	"encoding/json"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Build gathers the context of the iteration at the place. progress is the store's name of the
// progress file. The error is one of reading the session's directory.
func (r *Reader) Build(st state.State, n *plan.Node, at event.Place, progress string) (Context, error) {
	p, dir := r.plan, r.dir
	node, err := rundir.At(p, at)
	if err != nil {
		return Context{}, err
	}
	it := node.Iteration(at.Iteration)
	c := Context{
		Session: st.Session, Pipeline: p.Pipeline.Name, Iteration: at.Iteration, Commands: p.CommandsOf(n),
		Stage: Stage{ID: n.ID, Index: p.Index(n.Path), Template: n.Ref},
		Paths: Paths{
			SessionDir: dir.Path(), StageDir: dir.Abs(string(node)), Progress: dir.Abs(progress),
			Output: dir.Abs(it.Output()), Status: dir.Abs(it.Status()), Result: dir.Abs(it.Result()),
		},
		Limits: Limits{MaxIterations: n.Termination.Max(), RemainingSeconds: -1},
	}
	c.Inputs, err = r.gather(st, n, at)
	return c, err
}

func (r *Reader) gather(st state.State, n *plan.Node, at event.Place) (Inputs, error) {
	in := Inputs{FromStage: map[string][]string{}, FromInitial: r.plan.Session.Inputs}
	if in.FromInitial == nil {
		in.FromInitial = []string{}
	}
	var err error
	if in.FromPreviousIterations, err = r.Outputs(at, at.Iteration-1); err != nil {
		return in, err
	}
	from := n.Inputs.From()
	if from == "" {
		return in, nil
	}
	in.FromStage[from], err = r.fromStage(st, from, n.Inputs.Select())
	return in, err
}

// fromStage are the outputs of an earlier node's newest visit, all of them or the latest.
func (r *Reader) fromStage(st state.State, id, selected string) ([]string, error) {
	path := r.plan.PathOf(id)
	ns, ran := st.Nodes[path]
	if !ran {
		return []string{}, nil
	}
	all, err := r.Outputs(event.Place{Node: path, Visit: ns.Visit, Run: ns.Run}, ns.Loop.Completed)
	if err != nil || selected == "history" || len(all) == 0 {
		return all, err
	}
	return all[len(all)-1:], nil
}

// Write puts the context into its file and returns the file's name in the store.
func Write(dir *rundir.Dir, it rundir.Iteration, c Context) (string, error) {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render context.json: %w", err)
	}
	return it.Context(), dir.Replace(it.Context(), append(b, '\n'))
}
