package inputs

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
