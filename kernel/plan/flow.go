package plan

import "encoding/json"

// Outcome is how a node ended, and the key of its outgoing edge.
type Outcome string

// The outcomes.
const (
	OutcomeSuccess  Outcome = "success"
	OutcomeFail     Outcome = "fail"   // measured or judged to be wrong
	OutcomeReject   Outcome = "reject" // a reviewer says no
	OutcomeRetry    Outcome = "retry"
	OutcomeTimeout  Outcome = "timeout"
	OutcomeError    Outcome = "error"
	OutcomeEscalate Outcome = "escalate"
	OutcomeSkip     Outcome = "skip"
	OutcomeBudget   Outcome = "budget" // the budget is used up
)

// The targets of an edge that are no node ids.
const (
	ToNext   = "next"
	ToDone   = "done"
	ToRetry  = "retry"
	ToPause  = "pause"
	ToAbort  = "abort"
	ToFailed = "failed"
)

// Edge is where an outcome leads: a node id or one of the To… words. In JSON a string when only To
// is set.
type Edge struct {
	To       string `json:"to"`
	Limit    int    `json:"limit,omitempty"`    // how often it may be taken, 0: the policy's default
	Feedback string `json:"feedback,omitempty"` // the field of the artifact handed to the target
	OnLimit  string `json:"on_limit,omitempty"` // pause, failed or abort; default the policy's
}

// MarshalJSON writes the short form where it says everything.
func (e Edge) MarshalJSON() ([]byte, error) {
	type long Edge
	if e == (Edge{To: e.To}) {
		return json.Marshal(e.To)
	}
	return json.Marshal(long(e))
}

// UnmarshalJSON reads both forms.
func (e *Edge) UnmarshalJSON(data []byte) error {
	type long Edge
	if len(data) > 0 && data[0] == '"' {
		*e = Edge{}
		return json.Unmarshal(data, &e.To)
	}
	return json.Unmarshal(data, (*long)(e))
}

// Artifact is a node's output contract.
type Artifact struct {
	Type         string            `json:"type,omitempty"`
	Version      string            `json:"version,omitempty"`
	Schema       json.RawMessage   `json:"schema,omitempty"` // JSON Schema, resolved
	From         string            `json:"from,omitempty"`   // file, result, output, tool:<name>
	Carry        []string          `json:"carry,omitempty"`
	DefaultsFrom map[string]string `json:"defaults_from,omitempty"`
	KernelFields map[string]string `json:"kernel_fields,omitempty"`
	Verdict      *Verdict          `json:"verdict,omitempty"`
	Heal         int               `json:"heal,omitempty"`
	MaxBytes     int64             `json:"max_bytes,omitempty"`
}

// Verdict maps the value of an artifact's field to an outcome.
type Verdict struct {
	Field string             `json:"field"`
	Map   map[string]Outcome `json:"map"`
}

// Steps runs the node once for each item of an earlier artifact.
type Steps struct {
	From      string         `json:"from"`
	Path      string         `json:"path"`
	ID        string         `json:"id,omitempty"`
	DependsOn string         `json:"depends_on,omitempty"`
	MaxTurns  int            `json:"max_turns,omitempty"`
	Parallel  bool           `json:"parallel,omitempty"`
	Rerun     string         `json:"rerun,omitempty"` // failed or all, "" is failed
	RetryBy   map[string]int `json:"retry_by,omitempty"`
}

// Check is one measurement made outside the agent.
type Check struct {
	ID        string  `json:"id"`
	At        string  `json:"at,omitempty"`         // enter or exit, "" is exit
	FilesFrom string  `json:"files_from,omitempty"` // the field of the input artifact with paths for the command
	Timeout   float64 `json:"timeout,omitempty"`    // seconds, 0: the action's own default
	// Config is the configuration of the hook action check: type and its other keys, with ${COMMANDS.<key>} replaced.
	Config json.RawMessage `json:"config"`
	// Optional: where a command that it names is not known, it is left out.
	Optional bool `json:"optional,omitempty"`
	// LeftOut is why it is not made, "" for one that is.
	LeftOut string `json:"left_out,omitempty"`
}

// When checks are made.
const (
	AtEnter = "enter" // before the agent works
	AtExit  = "exit"
)
