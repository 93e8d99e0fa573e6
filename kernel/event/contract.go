package event

// InputCheckedData is the result of inspecting the input artifact of a node that was entered: the node can begin,
// cannot begin, or is skipped.
type InputCheckedData struct {
	// From is the id of the node whose artifact is the input, "$input" for the run's input, "" if there is none.
	From string `json:"from,omitempty"`
	// Warnings are about fields that are null.
	Warnings []string `json:"warnings,omitempty"`
	// Skip is true if skip_when is true; Reason says why. Artifact is then the node's artifact, nil if it makes none.
	Skip     bool   `json:"skip,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Artifact *Ref   `json:"artifact,omitempty"`
	// Input is the input of an embedded pipeline, nil for other nodes.
	Input *Ref `json:"input,omitempty"`
	// Failure is the reason why the node cannot begin, nil if it can.
	Failure *FailureData `json:"failure,omitempty"`
}

// ArtifactInvalidData reports an artifact that is missing or violates the contract.
type ArtifactInvalidData struct {
	Node    string  `json:"node"`
	Faults  []Fault `json:"faults"`
	Retried bool    `json:"heals"` // the agent is asked again
}

// ArtifactHealedData reports that the artifact became valid.
type ArtifactHealedData struct {
	Node    string `json:"node"`
	Retries int    `json:"after"` // number of extra requests
}

// ArtifactWarningData reports a field of an input artifact that is null.
type ArtifactWarningData struct {
	Node    string `json:"node"`
	Message string `json:"message"`
}

// PhaseData reports the current phase of a node with an artifact.
type PhaseData struct {
	Node string `json:"node"`
	Name string `json:"name"` // one of the Phase… constants
}

// The phases of a node's work. Finalize follows every outcome.
const (
	PhaseInitialize     = "initialize"
	PhaseValidateInput  = "validate_input"
	PhaseExecute        = "execute"
	PhaseValidateOutput = "validate_output"
	PhaseFinalize       = "finalize"
)

// AttemptCompleteData ends the attempt of an iteration whose outcome must still be settled. The file Result contains
// the fields of [IterationCompleteData] that are missing here.
type AttemptCompleteData struct {
	Decision      string `json:"decision"`      // continue, stop, error: for readers
	AgentDecision string `json:"ask,omitempty"` // the decision, if the agent itself set it
	Result        Ref    `json:"result"`
	Output        *Ref   `json:"output,omitempty"` // nil: the agent wrote nothing
	Usage         *Usage `json:"usage,omitempty"`
	Model         string `json:"model,omitempty"`         // actual
	AgentVersion  string `json:"agent_version,omitempty"` // actual
	DurationMS    int64  `json:"duration_ms"`
}

// CheckResultData is the result of a check. A check that could not be measured never counts as passed, and Failure
// says why.
type CheckResultData struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	At         string         `json:"at"` // enter or exit
	Passed     bool           `json:"passed"`
	Reason     string         `json:"reason,omitempty"` // why it did not pass or was left out, one line
	Code       string         `json:"code,omitempty"`   // of the cheat that it found, CHEAT-*, "" for none
	ExitCode   *int           `json:"exit_code,omitempty"`
	Counts     map[string]int `json:"counts,omitempty"`
	DurationMS int64          `json:"duration_ms"`
	// Skipped is true if the plan leaves the check out, so that nothing was measured; Passed is then true too.
	Skipped bool `json:"left_out,omitempty"`
	// Facts is the file with all measured facts, nil if nothing was measured.
	Facts   *Ref         `json:"facts,omitempty"`
	Failure *FailureData `json:"failure,omitempty"`
}

// StepsPlannedData are the steps of a node, in the order of their artifact. Failure is set if the artifact has no
// valid steps.
type StepsPlannedData struct {
	Steps   []StepData   `json:"steps,omitempty"`
	Failure *FailureData `json:"failure,omitempty"`
}

// StepData is one step.
type StepData struct {
	ID        string   `json:"id"`
	Title     string   `json:"title,omitempty"`  // at most 80 bytes
	Action    string   `json:"action,omitempty"` // for retry_by
	DependsOn []string `json:"depends_on,omitempty"`
	Item      Ref      `json:"item"` // the file with the whole step
}

// StepStartData begins a step, or repeats it in a stage retry.
type StepStartData struct {
	Step  string `json:"step"`
	Title string `json:"title,omitempty"`
	N     int    `json:"n"`  // its position, from 1
	Total int    `json:"of"` // number of steps
}

// StepCompleteData ends a step.
type StepCompleteData struct {
	Step    string       `json:"step"`
	Title   string       `json:"title,omitempty"`
	Status  string       `json:"status"` // complete, failed, skipped
	Outcome string       `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	N       int          `json:"n"`
	Total   int          `json:"of"`
	Done    int          `json:"done"` // steps complete or skipped when this one ended
	Failure *FailureData `json:"failure,omitempty"`
}

// StepBlockedData reports a step that cannot run because another failed.
type StepBlockedData struct {
	Step string `json:"step"`
	By   string `json:"by"`
}

// CycleStartData reports a transition over a counted edge.
type CycleStartData struct {
	Edge   string `json:"edge"`
	From   string `json:"from"` // ids of the nodes
	To     string `json:"to"`
	Count  int    `json:"count"` // transitions over this edge so far, from 1
	Limit  int    `json:"limit"`
	Total  int    `json:"total"` // transitions over all counted edges in the run so far
	Reason string `json:"reason,omitempty"`
}

// SecretFoundData reports secrets in a file that an agent wrote. The file is not changed, and the event does not
// contain the secret.
type SecretFoundData struct {
	Path  string `json:"path"`  // relative to the project
	Line  int    `json:"line"`  // of the first one, from 1
	Rule  string `json:"rule"`  // the matching rule's name in package redact
	Count int    `json:"count"` // number of matches of that rule
}

// BudgetWarningData reports the cost when the warning threshold was exceeded.
type BudgetWarningData struct {
	Scope    string  `json:"scope,omitempty"` // path of a node, "" for the session
	SpentUSD float64 `json:"spent_usd"`
	WarnUSD  float64 `json:"warn_usd"`
	MaxUSD   float64 `json:"max_usd,omitempty"`
}

// ContextBuiltData reports the number of tokens of a prompt and the limit from its node's share of the budget.
type ContextBuiltData struct {
	Tokens int `json:"tokens"`
	Limit  int `json:"limit"`
}

// ContextTrimmedData reports a text that was shortened to fit the budget of a prompt. Sizes are of the text itself,
// without the lines around it.
type ContextTrimmedData struct {
	Kind           string `json:"kind"` // talk, file, step or fact
	Name           string `json:"name"`
	OriginalTokens int    `json:"original_tokens"`
	OriginalBytes  int64  `json:"original_bytes"`
	KeptTokens     int    `json:"kept_tokens"`
	KeptBytes      int64  `json:"kept_bytes"`
}
