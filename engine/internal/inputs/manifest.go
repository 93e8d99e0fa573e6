package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Manifest is the content of a parallel block's manifest.json, with the keys in the file's order (BASH-BEHAVIOUR
// 4.10).
type Manifest struct {
	Block struct {
		Name   string   `json:"name"` // the block's id
		Index  int      `json:"index"`
		Stages []string `json:"stages"` // ids
	} `json:"block"`
	// Providers has the outputs by provider and stage, in the order of the block.
	Providers   OrderedObject[OrderedObject[ProviderOutput]] `json:"providers"`
	CompletedAt string                                       `json:"completed_at"` // UTC, seconds
}

// ProviderOutput has the files of one provider in one stage. Paths are absolute.
type ProviderOutput struct {
	LatestOutput string   `json:"latest_output"` // "" if there was no output
	Status       string   `json:"status"`        // of the last iteration; the file need not exist
	Result       string   `json:"result"`
	Iterations   int      `json:"iterations"`
	Reason       string   `json:"termination_reason"` // see [state.BranchStage.EndedBy]
	History      []string `json:"history"`            // outputs, oldest first; never nil
}

// WriteManifest writes the manifest of the block at a location atomically and returns its reference. All providers of
// the block must be complete.
func (r *Reader) WriteManifest(st state.State, at event.Location, now time.Time) (event.Ref, error) {
	m, err := r.manifest(st, at.Node)
	if err != nil {
		return event.Ref{}, err
	}
	m.CompletedAt = now.UTC().Format("2006-01-02T15:04:05Z")
	node, err := store.NodeAt(r.plan, at)
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
		var stages OrderedObject[ProviderOutput]
		for stage := range st.Nodes[path].Branches[id].Done {
			output, err := r.providerOutput(st, block, id, stage)
			if err != nil {
				return m, err
			}
			stages = append(stages, Member[ProviderOutput]{block.Stages[stage].ID, output})
		}
		m.Providers = append(m.Providers, Member[OrderedObject[ProviderOutput]]{id, stages})
	}
	return m, nil
}

// providerOutput returns the files of a provider in a completed stage of a block.
func (r *Reader) providerOutput(st state.State, block *plan.Node, id string, stage int) (ProviderOutput, error) {
	ns := st.Nodes[block.Path]
	at := branchStageLocation(block.Path, ns, id, stage)
	node, err := store.NodeAt(r.plan, at)
	if err != nil {
		return ProviderOutput{}, err
	}
	done := ns.Branches[id].Done[stage]
	history, err := r.Outputs(at, done.Iterations)
	if err != nil {
		return ProviderOutput{}, err
	}
	last := node.Iteration(done.Iterations)
	output := ProviderOutput{
		Status: r.dir.Abs(last.Status()), Result: r.dir.Abs(last.Result()), Iterations: done.Iterations,
		Reason: done.EndedBy(block.Stages[stage].Termination.Type()), History: history,
	}
	if len(history) > 0 {
		output.LatestOutput = history[len(history)-1]
	}
	return output, nil
}

// branchStageLocation returns the location of a provider's stage in the newest visit of a block.
func branchStageLocation(path string, ns state.Node, id string, stage int) event.Location {
	return event.Location{Node: fmt.Sprintf("%s.%d", path, stage), Visit: ns.Visit, Run: ns.Run, Branch: id}
}

// OrderedObject is a JSON object whose members keep their order.
type OrderedObject[V any] []Member[V]

// Member is a member of an [OrderedObject].
type Member[V any] struct {
	Name  string
	Value V
}

// MarshalJSON writes the members in their order, {} for nil.
func (m OrderedObject[V]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(member.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(member.Value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
