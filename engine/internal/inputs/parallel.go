package inputs

import (
	"bytes"
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FromParallel is what parallel blocks left for an iteration: in JSON {} if nothing was asked for, an
// object if one source was, a list if a list was. A source whose block has not completed is {}, or left
// out of the list.
type FromParallel struct {
	sources []Source
	list    bool
}

// MarshalJSON writes one of the three forms.
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

// Source is what the providers of one block left in one stage.
type Source struct {
	Stage     string             `json:"stage"`
	Block     string             `json:"block"`
	Select    string             `json:"select"`   // latest or history
	Manifest  string             `json:"manifest"` // absolute
	Providers Members[Selection] `json:"providers"`
}

// Selection is what is shown of one provider. Paths are absolute.
type Selection struct {
	Output     string   `json:"output"` // the latest, "" if there is none
	Status     string   `json:"status"` // the file need not exist
	Iterations int      `json:"iterations"`
	Reason     string   `json:"termination_reason"`
	History    []string `json:"history,omitzero"` // with select: history; then never nil
}

// wanted is a source as the pipeline names it.
type wanted struct {
	Stage     string   `json:"stage"`
	Block     string   `json:"block"` // "" for the first block with the stage
	Select    string   `json:"select"`
	Providers []string `json:"providers"` // nil for all, in the order of the block
}

// UnmarshalJSON reads an object, or a text, which is its stage.
func (w *wanted) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*w = wanted{}
		return json.Unmarshal(data, &w.Stage)
	}
	type object wanted
	return json.Unmarshal(data, (*object)(w))
}

// readWanted reads inputs.from_parallel: a text, an object, or a list of these.
func readWanted(raw json.RawMessage) (all []wanted, list bool, err error) {
	raw = bytes.Trim(raw, " \t\r\n") // the white space of JSON
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, false, nil
	case raw[0] == '[':
		list, err = true, json.Unmarshal(raw, &all)
	default:
		all = make([]wanted, 1)
		err = json.Unmarshal(raw, &all[0])
	}
	if err != nil {
		return nil, false, failure.New(failure.ConfigInvalid, "read inputs.from_parallel: %w", err).
			WithHint("it is a stage's id, an object {stage, block, providers, select}, or a list of these")
	}
	return all, list, nil
}

// fromParallel resolves what a node asks of the blocks before the node at path.
func (r *Reader) fromParallel(st state.State, raw json.RawMessage, path string) (FromParallel, error) {
	all, list, err := readWanted(raw)
	f := FromParallel{list: list}
	if err != nil {
		return f, err
	}
	for _, w := range all {
		block, stage := r.blockWith(st, w, path)
		if block == nil {
			continue
		}
		s, err := r.source(st, w, block, stage)
		if err != nil {
			return f, err
		}
		f.sources = append(f.sources, s)
	}
	return f, nil
}

// blockWith is the first block before the node at path that is complete and has the stage, and the
// stage's position in it; nil if there is none.
func (r *Reader) blockWith(st state.State, w wanted, path string) (block *plan.Node, stage int) {
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

func (r *Reader) source(st state.State, w wanted, block *plan.Node, stage int) (Source, error) {
	ns := st.Nodes[block.Path]
	s := Source{Stage: w.Stage, Block: block.ID, Select: selected(w.Select), Manifest: r.dir.Abs(ns.Artifacts[event.Manifest].Path)}
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
		left, err := r.left(st, block, id, stage)
		if err != nil {
			return s, err
		}
		shown := Selection{Output: left.LatestOutput, Status: left.Status, Iterations: left.Iterations, Reason: left.Reason}
		if s.Select == history {
			shown.History = left.History
		}
		s.Providers = append(s.Providers, Member[Selection]{id, shown})
	}
	return s, nil
}

// The two words of select.
const (
	latest  = "latest"
	history = "history"
)

// selected reads the word select: all is history, anything else that is not history is latest.
func selected(word string) string {
	if word == history || word == "all" {
		return history
	}
	return latest
}
