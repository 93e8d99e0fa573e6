package compare

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Comparison compares two sessions. Where a member has two values, the first value belongs to the first session.
type Comparison struct {
	Sessions [2]Session `json:"sessions"`
	// Equal reports that Differ is empty. Text is the result as a sentence without its subject, the sessions' names.
	Equal bool   `json:"same"`
	Text  string `json:"text"`
	// Differ lists the kinds of differences, in this order: status, plan, inputs, way, nodes and texts.
	Differ []string `json:"differ"`
	// Plan and Inputs list the keys that differ.
	Plan   []Key `json:"plan"`
	Inputs []Key `json:"inputs"`
	// Divergence is the first visit that differs, nil if none does.
	Divergence *Divergence `json:"parted,omitempty"`
	// Nodes lists the nodes of both sessions: the nodes of the first plan, then the nodes that only the second plan has.
	Nodes []Node `json:"nodes"`
	// Texts lists the outputs and artifacts that differ.
	Texts []Text `json:"texts"`
	// LeftOut counts the entries that Limit removed.
	LeftOut Omissions `json:"left_out"`
}

// Omissions counts the differences that are not listed; Nodes also counts equal nodes.
type Omissions struct {
	Plan   int `json:"plan,omitempty"`
	Inputs int `json:"inputs,omitempty"`
	Nodes  int `json:"nodes,omitempty"`
	Texts  int `json:"texts,omitempty"`
}

// Session describes one of the two sessions.
type Session struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id,omitempty"`
	Status  state.Status `json:"status"` // "" if it never began
	Crashed bool         `json:"crashed,omitempty"`
	Running bool         `json:"running,omitempty"` // a kernel holds it; the comparison covers the work so far
	Stage   string       `json:"stage,omitempty"`   // the current stage, unless the session completed
	Reason  string       `json:"reason,omitempty"`
	// Failure is the type and the code of the failure.
	Failure    string    `json:"failure,omitempty"`
	Pipeline   string    `json:"pipeline,omitempty"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	Iterations int       `json:"iterations"`
	Effort
	Dir string `json:"dir"`
}

// Effort holds attempts, tokens, cost and duration. They never count as a difference.
type Effort struct {
	Attempts   int      `json:"attempts"`
	Retries    int      `json:"retries"` // repeated attempts and restarted stages
	Tokens     *int64   `json:"tokens"`  // input and output; null if unknown
	CostUSD    *float64 `json:"cost_usd"`
	DurationMS int64    `json:"duration_ms"` // without the time in which no kernel held the session
}

// Key is a key of the plan, or an input, with its values as JSON; null for a missing value.
type Key struct {
	Node   string `json:"node,omitempty"` // "" for the pipeline as a whole; "outer/inner" in a nested pipeline
	Key    string `json:"key,omitempty"`  // "termination.max"; "" for the whole node
	Values [2]any `json:"values"`
}

// Divergence is the first visit with another node or another end.
type Divergence struct {
	// Visit counts the visits of all nodes from 1.
	Visit  int       `json:"visit"`
	Values [2]string `json:"values"` // "review (visit 2) ended as fail, on to draft"; "" for none
}

// Node describes a node in the two sessions.
type Node struct {
	Node string `json:"node"` // "outer/inner" in a nested pipeline or a block
	// Differ lists the members of Values that differ.
	Differ []string  `json:"differ"`
	Values [2]*Facts `json:"values"` // nil if the plan lacks the node
}

// Facts describes the work on a node.
type Facts struct {
	Status     string   `json:"status"`
	Outcome    string   `json:"outcome,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why it ended
	Visits     int      `json:"visits"`
	Iterations int      `json:"iterations"`
	Agents     []string `json:"agents,omitempty"` // provider, or provider/model, in the order of their first attempt
	Effort
}

// Text is an output or an artifact that differs or that only one session has.
type Text struct {
	Node       string    `json:"node"`
	Provider   string    `json:"provider,omitempty"` // of a block
	Step       string    `json:"step,omitempty"`
	Kind       string    `json:"what"`            // output or artifact
	Visit      int       `json:"visit,omitempty"` // of an output
	Iterations [2]int    `json:"iterations"`      // of the two outputs
	Files      [2]string `json:"files"`           // relative to the sessions' directories, "" for none
	// Diff is a unified diff, "" if one text is missing. Cut reports that Diff is truncated.
	Diff string `json:"diff,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
	// Problem is the reason why the texts could not be compared, "" if they could.
	Problem string `json:"problem,omitempty"`
	// More counts further outputs of the same loop that differ.
	More int `json:"more,omitempty"`
}
