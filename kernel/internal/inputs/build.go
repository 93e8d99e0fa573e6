package inputs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Build gathers the context of the iteration at the place. progress is the store's name of the
// progress file. The error is one of reading the session's directory.
func Build(dir *rundir.Dir, p *plan.Plan, st state.State, n *plan.Node, at event.Place, progress string) (Context, error) {
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
	c.Inputs, err = gather(dir, p, st, n, at)
	return c, err
}

func gather(dir *rundir.Dir, p *plan.Plan, st state.State, n *plan.Node, at event.Place) (Inputs, error) {
	in := Inputs{FromStage: map[string][]string{}, FromInitial: p.Session.Inputs}
	if in.FromInitial == nil {
		in.FromInitial = []string{}
	}
	var err error
	if in.FromPreviousIterations, err = Outputs(dir, p, at, at.Iteration-1); err != nil {
		return in, err
	}
	from := n.Inputs.From()
	if from == "" {
		return in, nil
	}
	in.FromStage[from], err = fromStage(dir, p, st, from, n.Inputs.Select())
	return in, err
}

// fromStage are the outputs of an earlier node's newest visit, all of them or the latest.
func fromStage(dir *rundir.Dir, p *plan.Plan, st state.State, id, selected string) ([]string, error) {
	path := p.PathOf(id)
	ns, ran := st.Nodes[path]
	if !ran {
		return []string{}, nil
	}
	all, err := Outputs(dir, p, event.Place{Node: path, Visit: ns.Visit, Run: ns.Run}, ns.Loop.Completed)
	if err != nil || selected == "history" || len(all) == 0 {
		return all, err
	}
	return all[len(all)-1:], nil
}

// Outputs are the absolute paths of the outputs of a place's iterations 1 to last that exist, in
// order; never nil.
func Outputs(dir *rundir.Dir, p *plan.Plan, at event.Place, last int) ([]string, error) {
	node, err := rundir.At(p, at)
	if err != nil {
		return nil, err
	}
	paths := []string{}
	for i := 1; i <= last; i++ {
		name := node.Iteration(i).Output()
		switch _, err := dir.Stat(name); {
		case err == nil:
			paths = append(paths, dir.Abs(name))
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("look for output of iteration %d: %w", i, err)
		}
	}
	return paths, nil
}

// Write puts the context into its file and returns the file's name in the store.
func Write(dir *rundir.Dir, it rundir.Iteration, c Context) (string, error) {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render context.json: %w", err)
	}
	return it.Context(), dir.Replace(it.Context(), append(b, '\n'))
}
