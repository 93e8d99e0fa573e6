package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Version is the version of the plan.json format.
const Version = 1

// Plan is one compiled pipeline. It is not changed after compilation and therefore safe for
// concurrent use.
type Plan struct {
	Version      int          `json:"version"`     // always [Version]
	CompiledAt   string       `json:"compiled_at"` // UTC, seconds, RFC 3339
	Source       Source       `json:"source"`
	Session      Session      `json:"session"`
	Pipeline     Pipeline     `json:"pipeline"`
	Dependencies Dependencies `json:"dependencies"`
	Nodes        []Node       `json:"nodes"` // in list order; never nil in JSON

	// Library holds the SHA-256 of each file of the shipped stages that the run uses, by its path in the session's copy
	// of the library; nil for none. Only the plan of a session has it.
	Library map[string]string `json:"library,omitempty"`
}

// Source is the compiled file.
type Source struct {
	Path   string `json:"path"`   // relative to the project if the file is in it
	SHA256 string `json:"sha256"` // of the file's bytes, lower-case hex
}

// Session is the session that the plan was compiled for.
type Session struct {
	Name      string   `json:"name"`            // of an embedded plan: its pipeline's name
	CreatedAt string   `json:"created_at"`      // UTC, seconds, RFC 3339
	Inputs    []string `json:"inputs,omitzero"` // absolute paths of the initial inputs, sorted; nil if none were named
}

// Pipeline holds the keys of the pipeline file, without its nodes.
type Pipeline struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Inputs      []string          `json:"inputs,omitempty"`    // as written: paths, globs, directories
	Commands    map[string]string `json:"commands,omitempty"`  // they override those of the settings files
	Overrides   *Overrides        `json:"overrides,omitempty"` // nil unless there are overrides
	Policy      *Policy           `json:"policy,omitempty"`    // nil unless the file has the key

	// Guardrails bound the whole run, in an embedded plan each of its runs; nil unless the file has the key.
	Guardrails *Guardrails `json:"guardrails,omitempty"`

	// Hooks are called for the nodes of this plan; nil unless a key of the file or an override asks for hooks.
	Hooks []Hook `json:"hooks,omitempty"`

	// ExitAfter is the id of the node whose success completes the pipeline; "" for the last node.
	ExitAfter string `json:"exit_after,omitempty"`
}

// Overrides are the settings of the command line or the environment that override the file.
//
// Provider and model are already applied to the nodes, embedded ones included but not those in parallel blocks. For
// context and commands see [Plan.EffectiveContext] and [Plan.EffectiveCommands]. An embedded plan has no overrides of
// its own.
type Overrides struct {
	Provider string            `json:"provider,omitempty"`
	Model    string            `json:"model,omitempty"`
	Context  string            `json:"context,omitempty"`
	Inputs   []string          `json:"inputs,omitempty"`
	Commands map[string]string `json:"commands,omitempty"`
	// Sandbox is the minimum isolation of every process of the run.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Mode is the minimum mode of every node; see [Modes].
	Mode string `json:"mode,omitempty"`
	PathOverrides
	// Artifacts are the files supplied for the run, by name: of a node of the pipeline, or of a field of the run's
	// input.
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// PathOverrides are the command line's overrides of the pipeline's path.
type PathOverrides struct {
	// Skip are the ids of the top-level nodes to skip.
	Skip []string `json:"skip,omitempty"`
	// Timeouts override policy.timeout, in seconds, by node id.
	Timeouts map[string]float64 `json:"timeouts,omitempty"`
	// MaxCycles overrides the limit of every edge, 0: not set.
	MaxCycles int `json:"max_cycles,omitempty"`
	// Timeout overrides the policy's timeout of the run, in seconds.
	Timeout float64 `json:"timeout,omitempty"`
	// Start is the id of the top-level node that the run begins with, ExitAfter that of the node whose success
	// completes it.
	Start     string `json:"start,omitempty"`
	ExitAfter string `json:"exit_after,omitempty"`
	// Supervised asks the user after every node but the last, Iterate after the nodes with the ids. [Pipeline.Hooks]
	// contains the resulting hooks.
	Supervised bool     `json:"supervised,omitempty"`
	Iterate    []string `json:"iterate,omitempty"`
}

// Dependencies are the tools that the Bash engine would need; kept for readers of old plans.
type Dependencies struct {
	JQ   bool `json:"jq"`
	YQ   bool `json:"yq"`
	Tmux bool `json:"tmux"`
	BD   bool `json:"bd"` // a termination has the type queue
}

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
	Model      string    `json:"model,omitempty"`    // stages inside blocks: only the node's own model
	PromptPath string    `json:"prompt_path,omitempty"`
	Prompt     string    `json:"prompt,omitempty"` // inline text, instead of PromptPath
	Context    string    `json:"context,omitempty"`
	OutputPath string    `json:"output_path,omitempty"` // with ${SESSION} unexpanded
	Delay      *float64  `json:"delay,omitempty"`       // seconds between iterations, nil: the default
	Role       string    `json:"role,omitempty"`        // the role in messages, such as planner; "" for the node's id

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
// inputs override the stage's. The model is the entry's, else the stage's, else that of standsFor, the resolved
// provider.
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

// defaultDelay is the number of seconds between iterations (U089).
const defaultDelay = 3.0

// IterationDelay returns the pause between two iterations.
func (n *Node) IterationDelay() time.Duration {
	if n.Delay == nil {
		return Seconds(defaultDelay)
	}
	return Seconds(*n.Delay)
}

// WrapsCommand reports whether the node runs a command.
func (n *Node) WrapsCommand() bool { return n.Wraps != nil && n.Wraps.Run != "" }

// withPrefix returns a copy of n whose paths begin with path, that of the embedding node; nil for nil.
func (n *Node) withPrefix(path string) *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Path = path + "." + n.Path
	c.Stages = slices.Clone(n.Stages)
	for i := range c.Stages {
		c.Stages[i].Path = path + "." + c.Stages[i].Path
	}
	return &c
}
