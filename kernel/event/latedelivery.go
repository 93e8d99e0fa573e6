package event

import "encoding/json"

// The kinds of late deliveries.
const (
	LateEnd      = "end"       // the end of an effect that the state no longer waited for
	LateResult   = "result"    // a success reported by a provider
	LateOutput   = "output"    // output of the agent
	LateToolCall = "tool_call" // a tool call, requested or made
	LateFile     = "file"      // a file at a path of an attempt
	LateFiles    = "workspace" // files of the workspace that changed before the next attempt began
	LateCommit   = "commit"    // the head of the repository moved before the next attempt began
)

// LateDeliveryData is a delivery for an attempt that was already abandoned, and so does not count. It only informs.
type LateDeliveryData struct {
	Kind string `json:"what"` // one of the Late… constants
	// Attempt is the number of the attempt, if known, and GivenUp the kind of the failure that ended it, "" if a crash
	// did.
	Attempt int    `json:"of,omitempty"`
	GivenUp string `json:"given_up,omitempty"`
	// Count and Bytes are the number and size of outputs and tool calls; Tools are the names of the first tools.
	Count int      `json:"count,omitempty"`
	Bytes int64    `json:"bytes,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Path is the path of a file relative to the session, and Kept the file it was moved to, if a later attempt or a
	// reader could have confused it with its own.
	Path     string `json:"path,omitempty"`
	KeptFile *Ref   `json:"kept,omitempty"`
	// Files are paths of the workspace, relative to the project, at most 100; More is the number of omitted ones.
	Files []string  `json:"files,omitempty"`
	More  int       `json:"more,omitempty"`
	Head  *HeadData `json:"head,omitempty"`
	// Type and Data are the event that ended the effect.
	Type Type            `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// HeadData is a move of the head of the workspace's repository.
type HeadData struct {
	From  string `json:"from"` // ids of commits
	To    string `json:"to"`
	Moves int    `json:"moves"` // commits, resets, checkouts
}

// AttemptSupersededData reports the changes in the workspace since the start of an attempt that is being repeated.
// Their author is unknown.
type AttemptSupersededData struct {
	Attempt int    `json:"of"`                 // number of the attempt
	Epoch   int    `json:"of_epoch,omitempty"` // of the kernel that started it
	GivenUp string `json:"given_up,omitempty"` // the kind of its failure, "" if a crash ended it
	// Changed are paths relative to the project, at most 100; a trailing slash marks a directory in which a file was
	// removed or renamed. More is the number of omitted paths. Partial means that the search was cut short.
	Changed []string  `json:"changed"`
	More    int       `json:"more,omitempty"`
	Partial bool      `json:"partial,omitempty"`
	Head    *HeadData `json:"head,omitempty"`
	// Shared means that other agents worked, or may have worked, in the same directory meanwhile.
	Shared bool `json:"shared,omitempty"`
}
