package plan

import (
	"cmp"
	"encoding/json"
	"math"
	"time"
)

// Provider is a resolved provider and model. Type is the canonical name.
type Provider struct {
	Type  string `json:"type"`
	Model string `json:"model"` // "" if neither the source nor the provider names one
	// Alias is the requested name if it differs from Type. Events of loops use it, as the Bash engine did; plans of
	// pipelines do not keep it.
	Alias string `json:"alias,omitempty"`
}

// EventName returns the provider's name in events.
func (p Provider) EventName() string { return cmp.Or(p.Alias, p.Type) }

// BlockProvider is one provider of a parallel block: a JSON string if the source has a string, else an object.
type BlockProvider struct {
	Name   string
	As     string // name of this entry if a provider occurs twice, "" for Name
	Model  string
	Inputs Inputs
	Object bool // written as an object
}

// ID returns the name of this entry in its block, which directories, events and inputs use.
func (b BlockProvider) ID() string { return cmp.Or(b.As, b.Name) }

type blockProviderObject struct {
	Name   string `json:"name"`
	As     string `json:"as,omitempty"`
	Model  string `json:"model,omitempty"`
	Inputs Inputs `json:"inputs,omitzero"`
}

// MarshalJSON writes a string or an object, as in the source.
func (b BlockProvider) MarshalJSON() ([]byte, error) {
	if !b.Object {
		return json.Marshal(b.Name)
	}
	return json.Marshal(blockProviderObject{b.Name, b.As, b.Model, b.Inputs})
}

// UnmarshalJSON reads a string or an object.
func (b *BlockProvider) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*b = BlockProvider{}
		return json.Unmarshal(data, &b.Name)
	}
	var o blockProviderObject
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	*b = BlockProvider{Name: o.Name, As: o.As, Model: o.Model, Inputs: o.Inputs, Object: true}
	return nil
}

// Inputs are a node's inputs as written: from, select, from_parallel, from_initial. In JSON always an object.
type Inputs map[string]json.RawMessage

// MarshalJSON writes {} for nil.
func (in Inputs) MarshalJSON() ([]byte, error) {
	if in == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]json.RawMessage(in))
}

// From returns the id of the node whose outputs are used, "" for none.
func (in Inputs) From() string { return in.stringAt("from") }

// Select returns latest or history; all is an alias of history, anything else means latest.
func (in Inputs) Select() string {
	switch in.stringAt("select") {
	case "history", "all":
		return "history"
	default:
		return "latest"
	}
}

func (in Inputs) stringAt(key string) string {
	var s string
	if json.Unmarshal(in[key], &s) != nil {
		return ""
	}
	return s
}

// Seconds returns s seconds as a duration, at most half of the longest duration.
func Seconds(s float64) time.Duration {
	return time.Duration(min(s, math.MaxInt64/float64(time.Second)/2) * float64(time.Second))
}
