package event

import "encoding/json"

// The kinds of late deliveries.
const (
	LateEnd      = "end"       // of an effect that the state did not wait for any more
	LateResult   = "result"    // a success that a provider reported
	LateOutput   = "output"    // what the agent said
	LateToolCall = "tool_call" // a tool that was to be used, or was
	LateFile     = "file"      // a file at a path that was given to an attempt
	LateFiles    = "workspace" // files of the workspace that changed before the next attempt began
	LateCommit   = "commit"    // the head of the repository moved before the next attempt began
)

// LateDeliveryData is what was delivered for an attempt after that was given up, and so does not count. It only informs.
type LateDeliveryData struct {
	What string `json:"what"` // one of the Late… constants
	// Of is the attempt of the iteration that it is of, as far as that can be told, and GivenUp the kind of the failure
	// that it was given up for, "" where a crash cut it off.
	Of      int    `json:"of,omitempty"`
	GivenUp string `json:"given_up,omitempty"`
	// Count is how often, and Bytes how much, of output and tool calls; Tools are the first tools' names.
	Count int      `json:"count,omitempty"`
	Bytes int64    `json:"bytes,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Path is where a file came, relative to the session, and Kept what it is now: moved aside, where a later attempt or
	// a reader would have taken it for its own.
	Path string `json:"path,omitempty"`
	Kept *Ref   `json:"kept,omitempty"`
	// Files are paths of the workspace, relative to the project, at most 100; More is how many were left out.
	Files []string  `json:"files,omitempty"`
	More  int       `json:"more,omitempty"`
	Head  *HeadData `json:"head,omitempty"`
	// Type and Data are the event that an effect ended with.
	Type Type            `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// HeadData is where the head of the workspace's repository went.
type HeadData struct {
	From  string `json:"from"` // ids of commits
	To    string `json:"to"`
	Moves int    `json:"moves"` // commits, resets, checkouts
}

// AttemptSupersededData says what changed in the workspace since an attempt began that is now made again. Who changed it
// is not known.
type AttemptSupersededData struct {
	Of      int    `json:"of"`                 // the attempt
	Epoch   int    `json:"of_epoch,omitempty"` // of the kernel that made it
	GivenUp string `json:"given_up,omitempty"` // the kind of its failure, "" where a crash cut it off
	// Changed are paths relative to the project, at most 100; one that ends in a slash is a directory in which
	// something was removed or renamed. More is how many were left out. Partial: not all was looked at.
	Changed []string  `json:"changed"`
	More    int       `json:"more,omitempty"`
	Partial bool      `json:"partial,omitempty"`
	Head    *HeadData `json:"head,omitempty"`
	// Shared: other agents worked in the same directory meanwhile, or may have.
	Shared bool `json:"shared,omitempty"`
}
