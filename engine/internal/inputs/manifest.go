package inputs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Manifest is manifest.json of a parallel block, keys in the file's order (BASH-BEHAVIOUR 4.10).
type Manifest struct {
	Block struct {
		Name   string   `json:"name"` // the block's id
		Index  int      `json:"index"`
		Stages []string `json:"stages"` // ids
	} `json:"block"`
	// Providers holds, by provider and stage, what each left, in the order of the block.
	Providers   Members[Members[Left]] `json:"providers"`
	CompletedAt string                 `json:"completed_at"` // UTC, seconds
}

// Left is what one provider left in one stage. Paths are absolute.
type Left struct {
	LatestOutput string   `json:"latest_output"` // "" if it never said anything
	Status       string   `json:"status"`        // of the last iteration; the file need not exist
	Result       string   `json:"result"`
	Iterations   int      `json:"iterations"`
	Reason       string   `json:"termination_reason"` // see [state.BranchStage.EndedBy]
	History      []string `json:"history"`            // outputs, oldest first; never nil
}

// WriteManifest writes the manifest of the block at the place, all of whose providers are complete, in
// one step, and returns its reference.
func (r *Reader) WriteManifest(st state.State, at event.Location, now time.Time) (event.Ref, error) {
	m, err := r.manifest(st, at.Node)
	if err != nil {
		return event.Ref{}, err
	}
	m.CompletedAt = now.UTC().Format("2006-01-02T15:04:05Z")
	node, err := store.At(r.plan, at)
	if err != nil {
		return event.Ref{}, err
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return event.Ref{}, fmt.Errorf("render %s: %w", node.Manifest(), err)
	}
	return r.dir.Write(node.Manifest(), append(b, '\n'))
}

func (r *Reader) manifest(st state.State, path string) (Manifest, error) {
	var m Manifest
	block := r.plan.Find(path)
	if block == nil {
		return m, fmt.Errorf("the plan has no node %q", path)
	}
	m.Block.Name = block.ID
	_, m.Block.Index = r.plan.Siblings(path)
	for i := range block.Stages {
		m.Block.Stages = append(m.Block.Stages, block.Stages[i].ID)
	}
	for i := range block.Providers {
		id := block.Providers[i].ID()
		var stages Members[Left]
		for stage := range st.Nodes[path].Branches[id].Done {
			left, err := r.left(st, block, id, stage)
			if err != nil {
				return m, err
			}
			stages = append(stages, Member[Left]{block.Stages[stage].ID, left})
		}
		m.Providers = append(m.Providers, Member[Members[Left]]{id, stages})
	}
	return m, nil
}

// left is what a provider left in a stage of a block, which it has done.
func (r *Reader) left(st state.State, block *plan.Node, id string, stage int) (Left, error) {
	ns := st.Nodes[block.Path]
	at := stageOf(block.Path, ns, id, stage)
	node, err := store.At(r.plan, at)
	if err != nil {
		return Left{}, err
	}
	done := ns.Branches[id].Done[stage]
	history, err := r.Outputs(at, done.Iterations)
	if err != nil {
		return Left{}, err
	}
	last := node.Iteration(done.Iterations)
	left := Left{
		Status: r.dir.Abs(last.Status()), Result: r.dir.Abs(last.Result()), Iterations: done.Iterations,
		Reason: done.EndedBy(block.Stages[stage].Termination.Type()), History: history,
	}
	if len(history) > 0 {
		left.LatestOutput = history[len(history)-1]
	}
	return left, nil
}

// stageOf is the place of a provider's stage in the newest visit of a block.
func stageOf(path string, ns state.Node, id string, stage int) event.Location {
	return event.Location{Node: fmt.Sprintf("%s.%d", path, stage), Visit: ns.Visit, Run: ns.Run, Branch: id}
}
