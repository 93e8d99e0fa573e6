package event

// Settlement is what an iteration under a contract came to; zero without one. In JSON its members stand beside those of
// iteration_complete.
type Settlement struct {
	Outcome string `json:"outcome,omitempty"` // an outcome of package plan
	Message string `json:"message,omitempty"` // why, where it is no success
	// Artifact is the valid artifact, in the node's own version.
	Artifact *Ref `json:"artifact,omitempty"`
	// Partial is what an agent that needs a person left of an artifact, as it wrote it, where that is not valid.
	Partial *Ref `json:"partial,omitempty"`
	// Feedback is the text for whoever works next because of the outcome: the next iteration, the next stage
	// retry, or the target of the edge.
	Feedback *Ref `json:"feedback,omitempty"`
	// FailedSteps are ids of steps of the edge's target that are to be made again.
	FailedSteps []string `json:"failed_steps,omitempty"`
	// Healed is how often the artifact was asked for again in the iteration, where it is valid at last.
	Healed int `json:"healed,omitempty"`
}

// InputCheckedData is what became of the input artifact of a node that was entered: whether the node can begin, or is
// skipped.
type InputCheckedData struct {
	// From is the id of the node whose artifact it is, "$input" for what the run was started with, "" where there is none.
	From string `json:"from,omitempty"`
	// Warnings are about fields that are there and null.
	Warnings []string `json:"warnings,omitempty"`
	// Skip: skip_when holds, Reason says so. Artifact is what the node passes on then, nil for a node that makes none.
	Skip     bool   `json:"skip,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Artifact *Ref   `json:"artifact,omitempty"`
	// Input is what an embedded pipeline starts with, nil for other nodes.
	Input *Ref `json:"input,omitempty"`
	// Failure is why the node cannot begin, nil if it can.
	Failure *FailureData `json:"failure,omitempty"`
}

// Fault is one thing that is wrong with an artifact.
type Fault struct {
	Path    string `json:"path"` // JSON path, "$" for the whole
	Code    string `json:"code"` // VAL-001 to VAL-015 (REQUIREMENTS C6)
	Message string `json:"message"`
}

// MaxFaults is how many faults an event has at most (REQUIREMENTS C6).
const MaxFaults = 10

// ArtifactInvalidData tells of an artifact that is missing or not what the contract says.
type ArtifactInvalidData struct {
	Node   string  `json:"node"`
	Faults []Fault `json:"faults"`
	Heals  bool    `json:"heals"` // the agent is asked again
}

// ArtifactHealedData tells that it is what the contract says at last.
type ArtifactHealedData struct {
	Node  string `json:"node"`
	After int    `json:"after"` // how often it was asked for again
}

// ArtifactWarningData tells of a field of an input artifact that is null.
type ArtifactWarningData struct {
	Node    string `json:"node"`
	Message string `json:"message"`
}

// PhaseData tells which part of its work a node with an artifact has come to.
type PhaseData struct {
	Node string `json:"node"`
	Name string `json:"name"` // one of the Phase… constants
}

// The phases of a node's work (seed 003). Finalize comes however the node ended.
const (
	PhaseInitialize     = "initialize"
	PhaseValidateInput  = "validate_input"
	PhaseExecute        = "execute"
	PhaseValidateOutput = "validate_output"
	PhaseFinalize       = "finalize"
)

// AttemptCompleteData ends the attempt of an iteration whose outcome is still to be settled. What it lacks of
// [IterationCompleteData] is in the result.
type AttemptCompleteData struct {
	Decision     string `json:"decision"`      // continue, stop, error: for people
	Ask          string `json:"ask,omitempty"` // the same words, when the agent said so itself
	Result       Ref    `json:"result"`
	Output       *Ref   `json:"output,omitempty"` // nil: the agent said nothing
	Usage        *Usage `json:"usage,omitempty"`
	Model        string `json:"model,omitempty"`         // really used
	AgentVersion string `json:"agent_version,omitempty"` // really used
	DurationMS   int64  `json:"duration_ms"`
}

// CheckResultData is what was measured. Where it could not be, Failure says why; that is never a pass.
type CheckResultData struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	At         string         `json:"at"` // enter or exit
	Passed     bool           `json:"passed"`
	Reason     string         `json:"reason,omitempty"` // why it did not pass or was left out, one line
	ExitCode   *int           `json:"exit_code,omitempty"`
	Counts     map[string]int `json:"counts,omitempty"`
	DurationMS int64          `json:"duration_ms"`
	// LeftOut: nothing was measured, since the plan leaves the check out; it has Passed then, too.
	LeftOut bool `json:"left_out,omitempty"`
	// Facts is the file with all that the check says, nil where nothing was measured.
	Facts   *Ref         `json:"facts,omitempty"`
	Failure *FailureData `json:"failure,omitempty"`
}

// StepsPlannedData are the steps of a node, in the order of the artifact that they come from. Failure: there are
// none to be had from it.
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

// StepStartData begins the work on a step, or begins it again in a stage retry.
type StepStartData struct {
	Step  string `json:"step"`
	Title string `json:"title,omitempty"`
	N     int    `json:"n"`  // its position, from 1
	Of    int    `json:"of"` // how many steps there are
}

// StepCompleteData ends it.
type StepCompleteData struct {
	Step    string       `json:"step"`
	Title   string       `json:"title,omitempty"`
	Status  string       `json:"status"` // complete, failed, skipped
	Outcome string       `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	N       int          `json:"n"`
	Of      int          `json:"of"`
	Done    int          `json:"done"` // steps complete or skipped so far, this one included
	Failure *FailureData `json:"failure,omitempty"`
}

// StepBlockedData says that a step cannot be made because another failed.
type StepBlockedData struct {
	Step string `json:"step"`
	By   string `json:"by"`
}

// CycleStartData tells of a return over a counted edge.
type CycleStartData struct {
	Edge   string `json:"edge"`
	From   string `json:"from"` // ids of the nodes
	To     string `json:"to"`
	Count  int    `json:"count"` // of this return, from 1
	Limit  int    `json:"limit"`
	Total  int    `json:"total"` // returns over all edges in the run so far
	Reason string `json:"reason,omitempty"`
}

// SecretFoundData tells of secrets in a file that an agent wrote. The file stays as it is; what the secret is, is not
// said.
type SecretFoundData struct {
	Path  string `json:"path"`  // relative to the project
	Line  int    `json:"line"`  // of the first one, from 1
	Rule  string `json:"rule"`  // by which it is one, in the words of package redact
	Count int    `json:"count"` // how many there are by that rule
}

// BudgetWarningData says what was spent when the warning's mark was passed.
type BudgetWarningData struct {
	Scope    string  `json:"scope,omitempty"` // path of a node, "" for the session
	SpentUSD float64 `json:"spent_usd"`
	WarnUSD  float64 `json:"warn_usd"`
	MaxUSD   float64 `json:"max_usd,omitempty"`
}

// ContextBuiltData says how many tokens a prompt has, and how many its node's share of the budget allows.
type ContextBuiltData struct {
	Tokens int `json:"tokens"`
	Limit  int `json:"limit"`
}

// ContextTrimmedData says what was left out of a prompt for the sake of its budget: of one text that the kernel adds to
// it, without the lines around it.
type ContextTrimmedData struct {
	Kind           string `json:"kind"` // talk, file, step or fact
	Name           string `json:"name"`
	OriginalTokens int    `json:"original_tokens"`
	OriginalBytes  int64  `json:"original_bytes"`
	KeptTokens     int    `json:"kept_tokens"`
	KeptBytes      int64  `json:"kept_bytes"`
}
