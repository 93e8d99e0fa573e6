package sdk

import (
	"context"
	"encoding/json"
)

// Exchange is the conversation of one attempt with the kernel. It is safe for concurrent use and
// valid until Execute returns. The reporting methods never block on a slow kernel for longer than
// its buffer lasts and report no error: a lost connection cancels the attempt's context. Heartbeats
// are sent by the SDK.
type Exchange interface {
	// Output reports text of the agent as it comes.
	Output(chunk OutputChunk)
	// Progress reports what a person would like to see now.
	Progress(p Progress)
	// Observe reports a tool call that the agent makes on its own authority, and ObserveResult its end.
	Observe(call ToolCall)
	ObserveResult(result ToolResult)
	// Call asks for a verdict on a tool call and waits for it. The kernel answers once the intent is
	// on disk. After a run verdict the provider makes the call and then reports it by Result.
	Call(ctx context.Context, call ToolCall) (Verdict, error)
	// Result reports the end of a gated call.
	Result(result ToolResult)
	// Usage reports the totals of the attempt so far.
	Usage(u Usage)
	// Checkpoint saves what the attempt needs to go on after a crash; it returns when it is on disk.
	Checkpoint(ctx context.Context, c Checkpoint) error
}

// Stream names a channel of the agent's output.
type Stream string

// Text is what a person reads, Raw the agent's own event stream kept for the record, Stderr its
// diagnostics.
const (
	StreamText   Stream = "text"
	StreamRaw    Stream = "raw"
	StreamStderr Stream = "stderr"
)

// OutputChunk is a piece of output; chunks of one stream are joined as they are.
type OutputChunk struct {
	Stream Stream
	Text   string
}

// Progress is a snapshot for live views; a later one replaces it. It is not journaled as truth.
type Progress struct {
	Message string // one line, such as "editing main.go"; may be empty
	Turn    int    // model replies so far, 0 if unknown
	Tool    string // the tool last used, "" if none
}

// Effect says what a tool call does to the world, and so what a crash in its middle means.
type Effect string

// None may be repeated freely, Idempotent gives the same when repeated, Once must not be repeated.
const (
	EffectNone       Effect = "none"
	EffectIdempotent Effect = "idempotent"
	EffectOnce       Effect = "once"
)

// ToolCall is one use of a tool. CallID is unique in the attempt and the same after a resume.
type ToolCall struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`   // a JSON object
	Effect Effect          `json:"effect,omitempty"` // default once, the careful assumption

	// Turn is the model reply that asked for the call, from 1; 0 if it is not known.
	Turn int `json:"turn,omitempty"`
	// Category says what kind of operation it is, by which a policy rules on it. "": not known, and the policy's
	// default holds.
	Category Category `json:"category,omitempty"`
	// Paths are what the call reads or changes: relative to the working directory, cleaned, with slashes.
	Paths []string `json:"paths,omitempty"`
	// Command is the command line of a terminal command, as the model wrote it.
	Command string `json:"command,omitempty"`
	// Preview is what a person should see before they allow the call, such as a unified diff; at most [MaxPreview]
	// bytes. Reason is the agent's own word for why. They are shown and not kept.
	Preview string `json:"-"`
	Reason  string `json:"-"`
}

// MaxPreview is how many bytes of [ToolCall.Preview] are shown.
const MaxPreview = 4 << 10

// Category is a kind of operation.
type Category string

// The categories (REQUIREMENTS C6).
const (
	CategoryFileRead        Category = "file_read"
	CategoryFileWrite       Category = "file_write"
	CategoryFileDelete      Category = "file_delete"
	CategoryDirectoryCreate Category = "directory_create"
	CategoryTerminal        Category = "terminal_command"
	CategoryExternal        Category = "external_request"
)

// Categories are all of them, the most harmless first.
func Categories() []Category {
	return []Category{
		CategoryFileRead, CategoryDirectoryCreate, CategoryFileWrite, CategoryFileDelete, CategoryTerminal, CategoryExternal,
	}
}

// ToolStatus is how a tool call ended.
type ToolStatus string

// The statuses of a tool result.
const (
	ToolSuccess ToolStatus = "success"
	ToolError   ToolStatus = "error"
	ToolTimeout ToolStatus = "timeout"
	ToolDenied  ToolStatus = "denied"
)

// ToolResult is the end of a tool call.
type ToolResult struct {
	CallID string          `json:"call_id"`
	Status ToolStatus      `json:"status"`
	Result json.RawMessage `json:"result,omitempty"` // any JSON value
}

// VerdictAction is what the kernel says to a gated call.
type VerdictAction string

// Run: make the call. Deny: do not, tell the model why. Skip: do not, go on as if it had nothing to
// say. Use: do not, the call was already made and this is its result.
const (
	VerdictRun  VerdictAction = "run"
	VerdictDeny VerdictAction = "deny"
	VerdictSkip VerdictAction = "skip"
	VerdictUse  VerdictAction = "use"
)

// Verdict answers one gated call.
type Verdict struct {
	CallID string
	Action VerdictAction
	Reason string      // for deny and skip, in words for the model; for run what a person said to it
	Result *ToolResult // for use
}

// Checkpoint is what a provider wants back after a crash. Blobs up to 64 MiB travel in the message.
type Checkpoint struct {
	Turn int
	Blob []byte
}
