package compare

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Comparison is what two sessions came to, beside each other. Where something has two values, the first one is of the first
// session.
type Comparison struct {
	Sessions [2]Session `json:"sessions"`
	// Same: they did the same, as far as Differ knows. Text is that in a sentence, without the sessions' names at its beginning.
	Same bool   `json:"same"`
	Text string `json:"text"`
	// Differ are the kinds of what differs, in this order: status, plan, inputs, way, nodes, texts, exact.
	Differ []string `json:"differ"`
	// Plan and Inputs are the keys that differ.
	Plan   []Key `json:"plan"`
	Inputs []Key `json:"inputs"`
	// Divergence is where the ways parted, nil where they are the same.
	Divergence *Divergence `json:"parted,omitempty"`
	// Nodes are all nodes that either session has, in the order of the first one's plan, then those that only the second has.
	Nodes []Node `json:"nodes"`
	// Texts are the outputs and artifacts that differ.
	Texts []Text `json:"texts"`
	// Exact is what package crashtest finds, nil where nobody asked for it.
	Exact []Exact `json:"exact,omitempty"`
	// LeftOut counts what is not told, 0 for nothing.
	LeftOut LeftOut `json:"left_out"`
}

// The kinds of what differs.
const (
	kindStatus = "status"
	kindPlan   = "plan"
	kindInputs = "inputs"
	kindPath   = "way"
	kindNodes  = "nodes"
	kindTexts  = "texts"
	kindExact  = "exact"
)

// LeftOut is how much more differs than is told. Outputs are those that were not compared at all.
type LeftOut struct {
	Plan    int `json:"plan,omitempty"`
	Inputs  int `json:"inputs,omitempty"`
	Nodes   int `json:"nodes,omitempty"`
	Texts   int `json:"texts,omitempty"`
	Exact   int `json:"exact,omitempty"`
	Outputs int `json:"outputs,omitempty"`
}

// Session is one of the two.
type Session struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id,omitempty"`
	Status  state.Status `json:"status"` // "": it never began
	Crashed bool         `json:"crashed,omitempty"`
	Running bool         `json:"running,omitempty"` // somebody works on it: this is what is done so far
	Stage   string       `json:"stage,omitempty"`   // that it is at, where it has not ended well
	Reason  string       `json:"reason,omitempty"`
	// Failure is the word and the code of what failed.
	Failure    string    `json:"failure,omitempty"`
	Pipeline   string    `json:"pipeline,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	Iterations int       `json:"iterations"`
	Took
	Dir string `json:"dir"`
}

// Took is what work took. It makes no difference.
type Took struct {
	Attempts   int      `json:"attempts"`
	Retries    int      `json:"retries"` // attempts made again, and stages begun anew
	Tokens     *int64   `json:"tokens"`  // in and out; null: nobody said
	CostUSD    *float64 `json:"cost_usd"`
	DurationMS int64    `json:"duration_ms"` // without the time in which nobody held the session
}

// Key is a key of the plan, or an input, with its values as JSON; null is one that is not there.
type Key struct {
	Node   string `json:"node,omitempty"` // "" for the pipeline as a whole; "outer/inner" in a nested pipeline
	Key    string `json:"key,omitempty"`  // "termination.max"; "" for the whole node
	Values [2]any `json:"values"`
}

// Divergence is the first visit of a node that was another one, or came to something else.
type Divergence struct {
	// Visit counts the visits of all nodes from 1.
	Visit  int       `json:"visit"`
	Values [2]string `json:"values"` // "review (visit 2) ended as fail, on to draft"; "" for none
}

// Node is what came of a node in the two sessions.
type Node struct {
	Node string `json:"node"` // "outer/inner" in a nested pipeline or a block
	// Differ are the members of Values that make a difference.
	Differ []string  `json:"differ"`
	Values [2]*Facts `json:"values"` // nil where the plan does not have the node
}

// Facts are what came of a node.
type Facts struct {
	Status     string   `json:"status"`
	Outcome    string   `json:"outcome,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why it ended
	Visits     int      `json:"visits"`
	Iterations int      `json:"iterations"`
	Agents     []string `json:"agents,omitempty"` // provider, or provider/model, in the order in which they came; ten at most
	Took
}

// Text is an output or an artifact that differs, or that only one of the two has.
type Text struct {
	Node       string    `json:"node"`
	Provider   string    `json:"provider,omitempty"` // of a block
	Step       string    `json:"step,omitempty"`
	What       string    `json:"what"`            // output or artifact
	Visit      int       `json:"visit,omitempty"` // of an output
	Iterations [2]int    `json:"iterations"`      // the same
	Files      [2]string `json:"files"`           // relative to the sessions' directories, "" where there is none
	// Diff is a unified diff, "" where one of them is not there. Cut says that it is not whole.
	Diff string `json:"diff,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
	// Problem is why they could not be compared, "" if they could.
	Problem string `json:"problem,omitempty"`
	// More are further outputs of the same place that differ.
	More int `json:"more,omitempty"`
}

// Exact is a difference that package crashtest finds.
type Exact struct {
	Where  string    `json:"where"`
	Path   string    `json:"path,omitempty"`
	Values [2]string `json:"values"`
}

// tokens are those of a usage, in and out.
func tokens(u event.Usage) *int64 { return event.Sum(u.InputTokens, u.OutputTokens) }
