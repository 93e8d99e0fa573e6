package plan

import (
	"encoding/json"
	"strings"
)

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
	Type    string          `json:"type,omitempty"`
	Version string          `json:"version,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // JSON Schema, resolved
	From    string          `json:"from,omitempty"`   // file, result, output, tool:<name>
	// Carry are fields that are copied from the input artifact where the node's own lacks them.
	Carry []string `json:"carry,omitempty"`
	// DefaultsFrom fills fields when the node is skipped: from which field of the input artifact, by field.
	DefaultsFrom map[string]string `json:"defaults_from,omitempty"`
	KernelFields map[string]string `json:"kernel_fields,omitempty"`
	Verdict      *Verdict          `json:"verdict,omitempty"`
	// Heal is how often an agent is asked again for an artifact that is missing or not what the contract says, with
	// the list of faults, beside its tries; nil: [DefaultHeal].
	Heal *int `json:"heal,omitempty"`
	// MaxBytes is the largest artifact, as the agent hands it over; 0: [DefaultMaxBytes].
	MaxBytes int64 `json:"max_bytes,omitempty"`
}

// Bounds of artifacts.
const (
	DefaultHeal     = 1
	MaxHeal         = 5
	DefaultMaxBytes = 10 << 20 // REQUIREMENTS C6
	MaxMaxBytes     = 64 << 20 // what a message of the protocol holds
)

// ToolPrefix begins the word for an artifact that is the arguments of a tool call: tool:<name>.
const ToolPrefix = "tool:"

// Heals is how often an agent is asked again for an artifact that is not what it should be, 0 for a nil artifact.
func (a *Artifact) Heals() int {
	switch {
	case a == nil:
		return 0
	case a.Heal == nil:
		return DefaultHeal
	default:
		return *a.Heal
	}
}

// Limit is the largest artifact in bytes.
func (a *Artifact) Limit() int64 {
	if a == nil || a.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return a.MaxBytes
}

// Tool is the name of the tool whose call hands the artifact over, "" where none does.
func (a *Artifact) Tool() string {
	if a == nil {
		return ""
	}
	name, found := strings.CutPrefix(a.From, ToolPrefix)
	if !found {
		return ""
	}
	return name
}

// The keys of [Node.Requires] that are no ids of nodes.
const (
	RequiresAny   = "*"      // whichever node the run comes from, beside that node's own list
	RequiresStart = "$input" // the run begins with the node: of what it was started with
)

// Wraps lets a node be another pipeline or a command, with artifacts as arguments and results (REQUIREMENTS U027).
// Of a pipeline the node has Kind [KindPipeline].
type Wraps struct {
	// Run is a command of the pipeline's author, for a shell: it is given the inputs as a JSON object on its standard
	// input, and prints the outputs as one. "" where a pipeline is wrapped.
	Run string `json:"run,omitempty"`
	// Dir is the folder of the stage that says Run, with the scripts that it may have, from the project's root; "" where
	// the node itself says it.
	Dir string `json:"dir,omitempty"`
	// Inputs are fields of the input artifact by the names that what is wrapped has for them; empty: all, as they are.
	// The field user_request is the request of the run where the artifact has no such field.
	Inputs map[string]string `json:"input_mapping,omitempty"`
	// Outputs are fields of the node's artifact by what is wrapped calls them, "" for the same name; empty: all.
	Outputs map[string]string `json:"output_mapping,omitempty"`
	// Defaults are inputs where the artifact has none, by the names of what is wrapped.
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
}

// ProviderCommand is the provider by which the commands of nodes are run.
const ProviderCommand = "command"

// WrapsCommand reports whether the node is a command.
func (n *Node) WrapsCommand() bool { return n.Wraps != nil && n.Wraps.Run != "" }

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
