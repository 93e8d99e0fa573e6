package inputs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Build returns the context of the iteration at a location. progress is the name of the progress file in the session.
// The error is about reading the session's directory.
func (r *Reader) Build(st state.State, n *plan.Node, at event.Location, progress string) (Context, error) {
	p, dir := r.plan, r.dir
	node, err := store.NodeAt(p, at)
	if err != nil {
		return Context{}, err
	}
	it := node.Iteration(at.Iteration)
	holder, _ := p.Holder(at.Outer())
	_, position := p.Siblings(at.Outer())
	c := Context{
		Session: st.Session, Pipeline: holder.Pipeline.Name, Iteration: at.Iteration, Commands: p.EffectiveCommands(n),
		Stage: Stage{ID: n.ID, Index: position, Template: n.Ref},
		Paths: Paths{
			SessionDir: dir.Path(), StageDir: dir.Abs(string(node)), Progress: dir.Abs(progress),
			Output: dir.Abs(it.Output()), Status: dir.Abs(it.Status()), Result: dir.Abs(it.Result()),
		},
		Limits: Limits{MaxIterations: n.Termination.Max(), RemainingSeconds: remainingSeconds(st, at, time.Now())},
	}
	if at.Branch != "" {
		scope, err := store.ProviderAt(p, at)
		if err != nil {
			return Context{}, err
		}
		c.Stage.Index, c.Paths.SessionDir = st.Nodes[at.Outer()].Branches[at.Branch].Stage, dir.Abs(string(scope))
		c.ParallelScope = &ParallelScope{ScopeRoot: c.Paths.SessionDir, PipelineRoot: dir.Path()}
	}
	c.Inputs, err = r.gather(st, n, at)
	return c, err
}

// remainingSeconds returns the time that the guardrails leave at a location, in whole seconds; -1 if it is unbounded.
func remainingSeconds(st state.State, at event.Location, now time.Time) int {
	left, bounded := st.Remaining(at, now)
	if !bounded {
		return -1
	}
	return int(left / time.Second)
}

func (r *Reader) gather(st state.State, n *plan.Node, at event.Location) (Inputs, error) {
	in := Inputs{FromStage: map[string][]string{}}
	var err error
	if in.Artifacts, err = r.artifacts(st, at.Outer()); err != nil {
		return in, err
	}
	if in.FromInitial, err = r.Initial(st, at.Outer()); err != nil {
		return in, err
	}
	if in.FromPreviousIterations, err = r.Outputs(at, at.Iteration-1); err != nil {
		return in, err
	}
	if in.FromParallel, err = r.fromParallel(st, n.Inputs["from_parallel"], at.Outer()); err != nil {
		return in, err
	}
	from := n.Inputs.From()
	if from == "" {
		return in, nil
	}
	in.FromStage[from], err = r.fromStage(st, at, from, n.Inputs.Select())
	return in, err
}

// artifacts returns the files of all artifacts for the node at path, nil for none. If one of them was changed, the error is
// of kind tampered.
func (r *Reader) artifacts(st state.State, path string) (map[string]string, error) {
	refs := map[string]event.Ref{}
	if ref, began := artifact.StartArtifact(r.plan, st, path); began {
		refs[plan.RequiresStart] = ref
	}
	siblings, _ := r.plan.Siblings(path)
	for _, n := range siblings {
		if ref, has := st.NodeArtifact(n.Path); has && n.Path != path {
			refs[n.ID] = ref
		}
	}
	var all map[string]string
	for id, ref := range refs {
		file, err := r.dir.Verify(ref)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = map[string]string{}
		}
		all[id] = file
	}
	return all, nil
}

// fromStage returns the outputs of an earlier stage, all of them or the latest. In a parallel block the provider's
// own earlier stages come before the pipeline's nodes.
func (r *Reader) fromStage(st state.State, at event.Location, id, selected string) ([]string, error) {
	if at.Branch != "" {
		block, ns := r.plan.Find(at.Outer()), st.Nodes[at.Outer()]
		for i, done := range ns.Branches[at.Branch].Done {
			if block.Stages[i].ID == id {
				return r.iterationOutputs(branchStageLocation(at.Outer(), ns, at.Branch, i), done.Iterations, selected)
			}
		}
	}
	nodes, _ := r.plan.Siblings(at.Outer())
	for i := range nodes {
		if nodes[i].ID == id {
			return r.fromNode(st, nodes[i].Path, selected)
		}
	}
	return []string{}, nil
}

// fromNode returns the outputs of a node's newest visit. For a parallel block these are the outputs of its last
// stage, by provider. For a nested pipeline they are the outputs of its last node in its newest run. The list is
// never nil.
func (r *Reader) fromNode(st state.State, path, selected string) ([]string, error) {
	ns, ran := st.Nodes[path]
	if !ran {
		return []string{}, nil
	}
	n := r.plan.Find(path)
	if n != nil && n.Steps != nil {
		return r.stepOutputs(ns), nil
	}
	if n != nil && n.Plan != nil && len(n.Plan.Nodes) > 0 {
		return r.fromNode(st, path+"."+n.Plan.Nodes[len(n.Plan.Nodes)-1].Path, selected)
	}
	if n == nil || n.Kind != plan.KindParallel {
		return r.iterationOutputs(event.Location{Node: path, Visit: ns.Visit, Run: ns.Run}, ns.Loop.Completed, selected)
	}
	all := []string{}
	last := len(n.Stages) - 1
	for i := range n.Providers {
		id := n.Providers[i].ID()
		done := ns.Branches[id].Done
		if len(done) <= last {
			continue
		}
		outputs, err := r.iterationOutputs(branchStageLocation(path, ns, id, last), done[last].Iterations, selected)
		if err != nil {
			return nil, err
		}
		all = append(all, outputs...)
	}
	return all, nil
}

// stepOutputs returns the last outputs of a node's steps, in their order.
func (r *Reader) stepOutputs(ns state.Node) []string {
	all := []string{}
	for _, id := range ns.Order {
		if ref := ns.Steps[id].Output; ref != nil {
			all = append(all, r.dir.Abs(ref.Path))
		}
	}
	return all
}

// iterationOutputs returns the outputs of the completed iterations at a location, all of them or the latest.
func (r *Reader) iterationOutputs(at event.Location, completed int, selected string) ([]string, error) {
	all, err := r.Outputs(at, completed)
	if selected != history {
		all = all[max(0, len(all)-1):]
	}
	return all, err
}

// ReturnCounts returns the counts of the returns to the node at a location, by the name of the edge; nil for none.
func ReturnCounts(p *plan.Plan, st state.State, at event.Location) map[string]Cycle {
	nodes, _ := p.Siblings(at.Outer())
	var returns map[string]Cycle
	for i := range nodes {
		for outcome := range nodes[i].Transitions {
			r := p.Route(&nodes[i], outcome)
			if c, taken := st.Cycles[r.Name]; taken && r.To == at.Outer() && c.Count > 0 {
				if returns == nil {
					returns = map[string]Cycle{}
				}
				returns[r.Name] = Cycle{Count: c.Count, Limit: c.Limit}
			}
		}
	}
	return returns
}

// Write writes the context to its file and returns the file's name in the session.
func Write(dir *store.Dir, it store.Iteration, c Context) (string, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render context.json: %w", err)
	}
	return it.Context(), dir.Replace(it.Context(), append(text, '\n'))
}

// NodeOutputs returns the absolute paths of all outputs of a node's newest visit; see fromNode for blocks and
// embedded pipelines.
func (r *Reader) NodeOutputs(st state.State, path string) ([]string, error) {
	return r.fromNode(st, path, history)
}

// Initial returns the absolute paths of the input files of the pipeline that contains the node at path. They are the
// pipeline's own input files, and those from the inputs of the node that embeds it.
func (r *Reader) Initial(st state.State, path string) ([]string, error) {
	holder, embedder := r.plan.Holder(path)
	all := append([]string{}, holder.Session.Inputs...)
	n := r.plan.Find(embedder)
	if n == nil {
		return all, nil
	}
	if from := n.Inputs.From(); from != "" {
		outputs, err := r.fromStage(st, event.Location{Node: embedder}, from, n.Inputs.Select())
		if err != nil {
			return nil, err
		}
		all = append(all, outputs...)
	}
	parallel, err := r.fromParallel(st, n.Inputs["from_parallel"], embedder)
	if err != nil {
		return nil, err
	}
	return append(all, parallel.outputs()...), nil
}

// outputs returns all selected outputs of the sources, in order.
func (f FromParallel) outputs() []string {
	var all []string
	for _, s := range f.sources {
		for _, p := range s.Providers {
			switch {
			case len(p.Value.History) > 0:
				all = append(all, p.Value.History...)
			case p.Value.Output != "":
				all = append(all, p.Value.Output)
			}
		}
	}
	return all
}
