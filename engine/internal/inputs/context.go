package inputs

import "encoding/json"

// Context is the content of context.json, with the keys in the file's order. Paths are absolute.
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

	// Data of contracts and budgets; absent without them.

	Artifact      *Artifact       `json:"artifact,omitempty"`       // for the node to make
	InputArtifact string          `json:"input_artifact,omitempty"` // path of the node's input artifact
	Step          json.RawMessage `json:"step,omitempty"`           // the step's item
	Feedback      string          `json:"feedback,omitempty"`       // feedback on earlier work
	// PreviousAttempt has the previous visit's files, if the node is entered again because of feedback on them.
	PreviousAttempt *PreviousAttempt `json:"previous_attempt,omitempty"`
	Resolution      string           `json:"resolution,omitempty"` // the user's text for the next prompts
	Budget          *Budget          `json:"budget,omitempty"`
	Visit           int              `json:"visit,omitempty"` // set from the second visit on
	Cycle           map[string]Cycle `json:"cycle,omitempty"` // the returns to the node, by edge
}

// Artifact is an artifact for the node to make.
type Artifact struct {
	Path   string          `json:"path"`
	Schema json.RawMessage `json:"schema,omitempty"` // JSON Schema
}

// PreviousAttempt has the paths of the files from the previous visit of a node, "" for missing ones.
type PreviousAttempt struct {
	Output   string `json:"output,omitempty"`
	Artifact string `json:"artifact,omitempty"`
}

// Budget is the node's share of prompt tokens, and the number of tokens in the prompt.
type Budget struct {
	Limit int `json:"limit"`
	Used  int `json:"used"`
}

// Cycle is the number of returns to the node over an edge, and their limit.
type Cycle struct {
	Count int `json:"count"`
	Limit int `json:"limit"`
}

// Stage identifies the node in the pipeline.
type Stage struct {
	ID       string `json:"id"`
	Index    int    `json:"index"`    // in a parallel block, the index in the block
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

// Inputs are the results of earlier work for this iteration. No member is ever null.
type Inputs struct {
	// FromStage has the outputs of the node in inputs.from, {} without one.
	FromStage map[string][]string `json:"from_stage"`
	// FromPreviousIterations are the outputs of this node's earlier iterations, oldest first.
	FromPreviousIterations []string `json:"from_previous_iterations"`
	// FromInitial has the input files of the pipeline that contains the node.
	FromInitial []string `json:"from_initial"`
	// FromParallel has the sources in inputs.from_parallel, {} without it.
	FromParallel FromParallel `json:"from_parallel"`
	// Artifacts has the files of the newest artifacts of the other nodes in the node's list, by node id. The
	// pipeline's start artifact has the id "$input". The field is absent if there are none.
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// Limits are the bounds of the work.
type Limits struct {
	MaxIterations int `json:"max_iterations"`
	// RemainingSeconds is the time that the guardrails leave when the attempt begins; -1: unbounded.
	RemainingSeconds int `json:"remaining_seconds"`
}

// ParallelScope has the folders of a provider's branch and of the whole session.
type ParallelScope struct {
	ScopeRoot    string `json:"scope_root"`
	PipelineRoot string `json:"pipeline_root"`
}
