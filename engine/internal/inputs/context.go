package inputs

import "encoding/json"

// Context is context.json, keys in the file's order. Paths are absolute.
type Context struct {
	Session   string            `json:"session"`
	Pipeline  string            `json:"pipeline"` // the pipeline's name
	Stage     Stage             `json:"stage"`
	Iteration int               `json:"iteration"`
	Paths     Paths             `json:"paths"`
	Inputs    Inputs            `json:"inputs"`
	Limits    Limits            `json:"limits"`
	Commands  map[string]string `json:"commands"`
	// ParallelScope is null outside parallel blocks.
	ParallelScope *ParallelScope `json:"parallel_scope"`

	// What contracts and budgets add; absent where there is none of it.

	Artifact      *Artifact       `json:"artifact,omitempty"`       // that the node is to make
	InputArtifact string          `json:"input_artifact,omitempty"` // path of the artifact that it works from
	Step          json.RawMessage `json:"step,omitempty"`           // the step's item
	Feedback      string          `json:"feedback,omitempty"`       // what is said of earlier work
	// PreviousAttempt is what the visit before left, where the node is entered again because of what is said of that.
	PreviousAttempt *PreviousAttempt `json:"previous_attempt,omitempty"`
	Resolution      string           `json:"resolution,omitempty"` // what people said since
	Budget          *Budget          `json:"budget,omitempty"`
	Visit           int              `json:"visit,omitempty"` // from the second one on
	Cycle           map[string]Cycle `json:"cycle,omitempty"` // the returns to the node, by edge
}

// Artifact is an artifact that is to be made.
type Artifact struct {
	Path   string          `json:"path"`
	Schema json.RawMessage `json:"schema,omitempty"` // JSON Schema
}

// PreviousAttempt are paths of what the visit of a node before this one left, "" for what it did not.
type PreviousAttempt struct {
	Output   string `json:"output,omitempty"`
	Artifact string `json:"artifact,omitempty"`
}

// Budget is the node's share of the tokens of prompts, and what of it the prompt has.
type Budget struct {
	Limit int `json:"limit"`
	Used  int `json:"used"`
}

// Cycle says how often an edge has led back to the node, and how often it may.
type Cycle struct {
	Count int `json:"count"`
	Limit int `json:"limit"`
}

// Stage says which node of the pipeline this is.
type Stage struct {
	ID       string `json:"id"`
	Index    int    `json:"index"`    // in a parallel block, that in the block
	Template string `json:"template"` // the stage's name, "" for inline prompts
}

// Paths are the files of the iteration.
type Paths struct {
	SessionDir string `json:"session_dir"` // in a parallel block, the provider's folder
	StageDir   string `json:"stage_dir"`
	Progress   string `json:"progress"`
	Output     string `json:"output"`
	Status     string `json:"status"`
	Result     string `json:"result"`
}

// Inputs are what earlier work left for this iteration. No member is ever null.
type Inputs struct {
	// FromStage holds the outputs of the node that inputs.from names, {} without one.
	FromStage map[string]List `json:"from_stage"`
	// FromPreviousIterations are the outputs of this node's earlier iterations, oldest first.
	FromPreviousIterations List `json:"from_previous_iterations"`
	// FromInitial are the files given to the session.
	FromInitial []string `json:"from_initial"`
	// FromParallel holds what inputs.from_parallel names, {} without it.
	FromParallel FromParallel `json:"from_parallel"`
	// Artifacts are the files of the newest artifacts of the other nodes in the node's list, by id, and of what its
	// pipeline began with, as "$input". Absent where there are none.
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// Limits bound the work.
type Limits struct {
	MaxIterations int `json:"max_iterations"`
	// RemainingSeconds is the time that the guardrails leave, as the attempt begins; -1: unbounded.
	RemainingSeconds int `json:"remaining_seconds"`
}

// ParallelScope names the folders of a provider's branch and of the whole session.
type ParallelScope struct {
	ScopeRoot    string `json:"scope_root"`
	PipelineRoot string `json:"pipeline_root"`
}
