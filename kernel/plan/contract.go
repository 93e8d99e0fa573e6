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
	OutcomeFail     Outcome = "fail"   // a check or verdict is negative
	OutcomeReject   Outcome = "reject" // a reviewer rejected the work
	OutcomeRetry    Outcome = "retry"
	OutcomeTimeout  Outcome = "timeout"
	OutcomeError    Outcome = "error"
	OutcomeEscalate Outcome = "escalate"
	OutcomeSkip     Outcome = "skip"
	OutcomeBudget   Outcome = "budget" // the budget is used up
)

// The targets of an edge that are not node ids.
const (
	ToNext   = "next"
	ToDone   = "done"
	ToRetry  = "retry"
	ToPause  = "pause"
	ToAbort  = "abort"
	ToFailed = "failed"
)

// Edge is the target of an outcome: a node id or one of the To… constants. In JSON it is a string when only To is
// set.
type Edge struct {
	To       string `json:"to"`
	Limit    int    `json:"limit,omitempty"`    // maximum number of transitions, 0: the policy's default
	Feedback string `json:"feedback,omitempty"` // the field of the artifact that the target receives
	OnLimit  string `json:"on_limit,omitempty"` // pause, failed or abort; default the policy's
}

// MarshalJSON writes a string if only To is set, else an object.
func (e Edge) MarshalJSON() ([]byte, error) {
	type long Edge
	if e == (Edge{To: e.To}) {
		return json.Marshal(e.To)
	}
	return json.Marshal(long(e))
}

// UnmarshalJSON reads a string or an object.
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
	Schema  json.RawMessage `json:"schema,omitempty"` // the JSON Schema itself, also if the source names a file
	From    string          `json:"from,omitempty"`   // file, result, output, tool:<name>
	// Carry are fields that are copied from the input artifact if the node's own artifact lacks them.
	Carry []string `json:"carry,omitempty"`
	// DefaultsFrom maps fields to fields of the input artifact that fill them when the node is skipped.
	DefaultsFrom map[string]string `json:"defaults_from,omitempty"`
	KernelFields map[string]string `json:"kernel_fields,omitempty"`
	Verdict      *Verdict          `json:"verdict,omitempty"`
	// Heal limits how often the agent is asked again for a missing or invalid artifact, with the list of faults.
	// These requests do not count as attempts. nil: [DefaultHeal].
	Heal *int `json:"heal,omitempty"`
	// MaxBytes is the maximum size of the artifact as delivered by the agent; 0: [DefaultMaxBytes].
	MaxBytes int64 `json:"max_bytes,omitempty"`
}

// Bounds of artifacts.
const (
	DefaultHeal     = 1
	MaxHeal         = 5
	DefaultMaxBytes = 10 << 20 // REQUIREMENTS C6
	MaxMaxBytes     = 64 << 20 // the limit of a protocol message
)

// ToolPrefix begins the value of [Artifact.From] for the arguments of a tool call: tool:<name>.
const ToolPrefix = "tool:"

// MaxRetries returns how often the agent is asked again for an invalid artifact, 0 for a nil artifact.
func (a *Artifact) MaxRetries() int {
	switch {
	case a == nil:
		return 0
	case a.Heal == nil:
		return DefaultHeal
	default:
		return *a.Heal
	}
}

// Limit returns the maximum size of the artifact in bytes.
func (a *Artifact) Limit() int64 {
	if a == nil || a.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return a.MaxBytes
}

// Tool returns the name of the tool whose call delivers the artifact, "" for none.
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

// The keys of [Node.Requires] that are not node ids.
const (
	RequiresAny   = "*"      // any node that the run comes from, in addition to that node's own list
	RequiresStart = "$input" // the run begins with the node; the input is that of the run
)

// Wraps makes a node run another pipeline or a command, with artifacts as arguments and results (REQUIREMENTS U027).
// A node that wraps a pipeline has Kind [KindPipeline].
type Wraps struct {
	// Run is a shell command: it receives the inputs as a JSON object on standard input and prints the outputs as a
	// JSON object. It is "" if a pipeline is wrapped.
	Run string `json:"run,omitempty"`
	// Dir is the directory of the stage that sets Run, relative to the project, for its scripts; "" if the node
	// itself sets it.
	Dir string `json:"dir,omitempty"`
	// Inputs maps inputs of the wrapped pipeline or command to fields of the input artifact; empty: all fields under
	// their own names. The field user_request is the run's request if the artifact lacks it.
	Inputs map[string]string `json:"input_mapping,omitempty"`
	// Outputs maps outputs of the wrapped pipeline or command to fields of the node's artifact, "" for the same name;
	// empty: all.
	Outputs map[string]string `json:"output_mapping,omitempty"`
	// Defaults are values for inputs that the artifact lacks, by the name inside the wrapped pipeline or command.
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
}

// ProviderCommand is the provider that runs the commands of nodes.
const ProviderCommand = "command"

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
	// TestFirst is the part of a check of tests in a test-first development, "" for none.
	TestFirst    TestFirst `json:"test_first,omitempty"`
	TestFiles    []string  `json:"test_files,omitempty"`     // patterns of test files, in addition to those of the languages
	SupportFiles []string  `json:"support_files,omitempty"`  // patterns of other files that the tests may bring with them
	MaxPassRatio float64   `json:"max_pass_ratio,omitempty"` // the share of the new tests that may pass without the code
	// Config is the configuration of the hook action check: type and its other keys, with ${COMMANDS.<key>} replaced.
	Config json.RawMessage `json:"config"`
	// Optional leaves the check out if a command that it references is missing or empty.
	Optional bool `json:"optional,omitempty"`
	// SkipReason is the reason why the check is left out, "" if it runs.
	SkipReason string `json:"left_out,omitempty"`
}

// CheckDelivery is the type of the check that compares a delivery with the project's git repository. The engine measures it
// itself: it records the state before the work and judges it afterwards.
const CheckDelivery = "delivery"

// DeliveryMode says how a run hands over its change. It is the field [FieldDelivery] of the pipeline's start artifact.
type DeliveryMode string

// The delivery modes.
const (
	DeliverFiles  DeliveryMode = "files" // the default: the change stays in the working tree
	DeliverPatch  DeliveryMode = "patch"
	DeliverCommit DeliveryMode = "commit"
	DeliverPR     DeliveryMode = "pr" // a pull request
)

// FieldDelivery is the name of the field with the delivery mode.
const FieldDelivery = "delivery_mode"

// DeliveryModes returns all delivery modes.
func DeliveryModes() []DeliveryMode {
	return []DeliveryMode{DeliverCommit, DeliverPR, DeliverFiles, DeliverPatch}
}

// DeliveryFields are the values that a check of type [CheckDelivery] measures, for kernel_fields.
var DeliveryFields = []string{"branch_name", "commit_message", "commit_sha", "deliverable_type", "files_modified", "files_staged", "patch_file", "pr_url", "spec_id", "status"}

// Commits reports whether the mode makes a commit.
func (m DeliveryMode) Commits() bool { return m == DeliverCommit || m == DeliverPR }

// Type returns the type of the check, "" if its configuration is unreadable.
func (c Check) Type() string {
	var config struct{ Type string }
	_ = json.Unmarshal(c.Config, &config) // the action reports a bad configuration
	return config.Type
}

// TestFirst is the part of a check in a test-first development (DESIGN 8).
type TestFirst string

// The parts of checks in a test-first development.
const (
	TestFirstBase     TestFirst = "base"     // records the tests before the work
	TestFirstRed      TestFirst = "red"      // only tests were added, and all of them fail
	TestFirstGreen    TestFirst = "green"    // the same tests pass by the code alone
	TestFirstRefactor TestFirst = "refactor" // the same tests still pass
	TestFirstFix      TestFirst = "fix"      // a test failed before the change and passes now
)

// The moments of checks.
const (
	AtEnter = "enter" // before the agent works
	AtExit  = "exit"
)
