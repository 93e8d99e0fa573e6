package inputs

import (
	"bytes"
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FromParallel has the outputs of parallel blocks for an iteration. In JSON it is {} without a request, an object for
// one source, a list for a list. A source whose block is incomplete is {}, or missing from the list.
type FromParallel struct {
	sources []Source
	list    bool
}

// MarshalJSON writes the form that [FromParallel] describes.
func (f FromParallel) MarshalJSON() ([]byte, error) {
	switch {
	case f.list:
		return json.Marshal(append([]Source{}, f.sources...))
	case len(f.sources) > 0:
		return json.Marshal(f.sources[0])
	default:
		return []byte("{}"), nil
	}
}

// Source has the outputs of a block's providers in one stage.
type Source struct {
	Stage     string                   `json:"stage"`
	Block     string                   `json:"block"`
	Select    string                   `json:"select"`   // latest or history
	Manifest  string                   `json:"manifest"` // absolute
	Providers OrderedObject[Selection] `json:"providers"`
}

// Selection has the selected files of one provider. Paths are absolute.
type Selection struct {
	Output     string   `json:"output"` // the latest output, "" if there is none
	Status     string   `json:"status"` // the file need not exist
	Iterations int      `json:"iterations"`
	Reason     string   `json:"termination_reason"`
	History    []string `json:"history,omitzero"` // with select: history; then never nil
}

// sourceRequest is a source as the pipeline names it.
type sourceRequest struct {
	Stage     string   `json:"stage"`
	Block     string   `json:"block"` // "" for the first block with the stage
	Select    string   `json:"select"`
	Providers []string `json:"providers"` // nil for all, in the order of the block
}

// UnmarshalJSON decodes an object, or a string with the stage.
func (w *sourceRequest) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*w = sourceRequest{}
		return json.Unmarshal(data, &w.Stage)
	}
	type object sourceRequest
	return json.Unmarshal(data, (*object)(w))
}

// parseSourceRequests decodes inputs.from_parallel: a string, an object, or a list of these.
func parseSourceRequests(raw json.RawMessage) (all []sourceRequest, list bool, err error) {
	raw = bytes.Trim(raw, " \t\r\n") // the white space of JSON
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, false, nil
	case raw[0] == '[':
		list, err = true, json.Unmarshal(raw, &all)
	default:
		all = make([]sourceRequest, 1)
		err = json.Unmarshal(raw, &all[0])
	}
	if err != nil {
		return nil, false, failure.New(failure.ConfigInvalid, "read inputs.from_parallel: %w", err).
			WithHint("write a stage's id, an object {stage, block, providers, select}, or a list of these")
	}
	return all, list, nil
}

// fromParallel resolves a node's sources in the blocks before the node at path.
func (r *Reader) fromParallel(st state.State, raw json.RawMessage, path string) (FromParallel, error) {
	all, list, err := parseSourceRequests(raw)
	f := FromParallel{list: list}
	if err != nil {
		return f, err
	}
	for _, w := range all {
		block, stage := r.findBlock(st, w, path)
		if block == nil {
			continue
		}
		s, err := r.readSource(st, w, block, stage)
		if err != nil {
			return f, err
		}
		f.sources = append(f.sources, s)
	}
	return f, nil
}

// findBlock returns the first complete block before the node at path that has the stage, and the stage's position in
// it; nil if there is none.
func (r *Reader) findBlock(st state.State, w sourceRequest, path string) (block *plan.Node, stage int) {
	nodes, position := r.plan.Siblings(path)
	for i := range max(0, position) {
		n := &nodes[i]
		if _, complete := st.Nodes[n.Path].Artifacts[event.Manifest]; !complete || w.Block != "" && w.Block != n.ID {
			continue
		}
		for j := range n.Stages {
			if n.Stages[j].ID == w.Stage {
				return n, j
			}
		}
	}
	return nil, 0
}

func (r *Reader) readSource(st state.State, w sourceRequest, block *plan.Node, stage int) (Source, error) {
	ns := st.Nodes[block.Path]
	s := Source{Stage: w.Stage, Block: block.ID, Select: parseSelect(w.Select), Manifest: r.dir.Abs(ns.Artifacts[event.Manifest].Path)}
	ids := w.Providers
	if ids == nil {
		for i := range block.Providers {
			ids = append(ids, block.Providers[i].ID())
		}
	}
	for _, id := range ids {
		if stage >= len(ns.Branches[id].Done) { // no such provider
			continue
		}
		output, err := r.providerOutput(st, block, id, stage)
		if err != nil {
			return s, err
		}
		selection := Selection{Output: output.LatestOutput, Status: output.Status, Iterations: output.Iterations, Reason: output.Reason}
		if s.Select == history {
			selection.History = output.History
		}
		s.Providers = append(s.Providers, Member[Selection]{id, selection})
	}
	return s, nil
}

// The values of select.
const (
	latest  = "latest"
	history = "history"
)

// parseSelect normalizes select: "all" and "history" are history, anything else is latest.
func parseSelect(value string) string {
	if value == history || value == "all" {
		return history
	}
	return latest
}
