package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"time"
)

// Kind is the kind of a node.
type Kind string

// The three kinds of nodes.
const (
	KindStage    Kind = "stage"    // iterations of one agent
	KindParallel Kind = "parallel" // the same stages by several providers in parallel
	KindPipeline Kind = "pipeline" // a whole plan, embedded
)

// Node is one node of a plan. Which fields are set depends on Kind.
type Node struct {
	Path        string      `json:"path"` // "0", inside a block "0.1"
	ID          string      `json:"id"`   // unique in its list
	Kind        Kind        `json:"kind"`
	Termination Termination `json:"termination,omitempty"` // stage: always has a type
	Inputs      Inputs      `json:"inputs"`                // as written, {} if absent
	Ref         string      `json:"ref,omitempty"`         // stage name or nested pipeline name
	Description string      `json:"description,omitempty"`

	// Stage nodes.
	Provider   *Provider `json:"provider,omitempty"` // stages outside blocks
	Model      string    `json:"model,omitempty"`    // stages inside blocks: the node's own only
	PromptPath string    `json:"prompt_path,omitempty"`
	Prompt     string    `json:"prompt,omitempty"` // inline text, instead of PromptPath
	Context    string    `json:"context,omitempty"`
	OutputPath string    `json:"output_path,omitempty"` // with ${SESSION} unexpanded
	Delay      *float64  `json:"delay,omitempty"`       // seconds between iterations, nil: the default
	Role       string    `json:"role,omitempty"`        // the stage's name for its role, "" for its id

	// Commands are the stage's own; use [Plan.EffectiveCommands] for the effective ones.
	Commands map[string]string `json:"commands,omitempty"`

	// Parallel blocks.
	Providers   []BlockProvider `json:"providers,omitempty"`
	Stages      []Node          `json:"stages,omitempty"`
	FailureMode string          `json:"failure_mode,omitempty"` // as written; has no effect

	// Nested pipelines.
	Runs int   `json:"runs,omitempty"`
	Plan *Plan `json:"plan,omitempty"`

	// The newer keys (DIALECT B2), nil unless the source uses them.
	Artifact *Artifact `json:"artifact,omitempty"`
	// Requires are the fields that the input artifact must have, by the id of the node that the run comes from,
	// [RequiresAny] or [RequiresStart].
	Requires map[string][]string `json:"requires,omitempty"`
	// SkipWhen is an expression over the input artifact; if it is true, the node is skipped.
	SkipWhen    string           `json:"skip_when,omitempty"`
	Steps       *Steps           `json:"steps,omitempty"`
	Checks      []Check          `json:"checks,omitempty"`
	Transitions map[Outcome]Edge `json:"transitions,omitempty"`
	Policy      *Policy          `json:"policy,omitempty"`
	Wraps       *Wraps           `json:"wraps,omitempty"`

	// Guardrails bound a visit of the node, in a block the work of one provider on the stage; nil unless the node or
	// its stage has the key.
	Guardrails *Guardrails `json:"guardrails,omitempty"`
}

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

// BlockProvider is one provider of a parallel block: a JSON string if it was written as one, else an object.
type BlockProvider struct {
	Name   string
	As     string // name of this entry if a provider occurs twice, "" for Name
	Model  string
	Inputs Inputs
	Object bool // written as an object
}

// ID returns the name of this entry in its block, which directories, events and inputs use.
func (b BlockProvider) ID() string { return cmp.Or(b.As, b.Name) }

// Branch returns the block's provider with the given id, nil if there is none.
func (n *Node) Branch(id string) *BlockProvider {
	for i := range n.Providers {
		if n.Providers[i].ID() == id {
			return &n.Providers[i]
		}
	}
	return nil
}

// InBranch returns a stage of a parallel block with the settings of one of the block's providers. The provider's
// inputs override the stage's. The model is the entry's, else the stage's, else the provider's default.
func (n Node) InBranch(b BlockProvider, standsFor Provider) Node {
	n.Provider = &Provider{Type: cmp.Or(standsFor.Type, b.Name), Model: cmp.Or(b.Model, n.Model, standsFor.Model)}
	if len(b.Inputs) > 0 {
		inputs := maps.Clone(b.Inputs)
		for key, value := range n.Inputs {
			if _, over := inputs[key]; !over {
				inputs[key] = value
			}
		}
		n.Inputs = inputs
	}
	return n
}

type blockProviderObject struct {
	Name   string `json:"name"`
	As     string `json:"as,omitempty"`
	Model  string `json:"model,omitempty"`
	Inputs Inputs `json:"inputs,omitzero"`
}

// MarshalJSON writes the form of the source.
func (b BlockProvider) MarshalJSON() ([]byte, error) {
	if !b.Object {
		return json.Marshal(b.Name)
	}
	return json.Marshal(blockProviderObject{b.Name, b.As, b.Model, b.Inputs})
}

// UnmarshalJSON reads both forms.
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

// defaultDelay is the number of seconds between iterations (U089).
const defaultDelay = 3.0

// IterationDelay returns the pause between two iterations.
func (n *Node) IterationDelay() time.Duration {
	if n.Delay == nil {
		return Seconds(defaultDelay)
	}
	return Seconds(*n.Delay)
}

// Seconds returns a duration of so many seconds, at most half of the longest one.
func Seconds(s float64) time.Duration {
	return time.Duration(min(s, math.MaxInt64/float64(time.Second)/2) * float64(time.Second))
}

// MaxRuns returns how often a pipeline node runs its plan. A nested one inside another runs once, because a location
// has only one run number.
func (p *Plan) MaxRuns(n *Node) int {
	if p.Embedder(n.Path) != "" {
		return 1
	}
	return max(n.Runs, 1)
}
