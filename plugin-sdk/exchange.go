package sdk

import (
	"context"
	"encoding/json"
)

// Exchange connects one attempt with the kernel. It is safe for concurrent use and valid until
// Execute returns.
//
// The reporting methods return no error and block only while the buffer to a slow kernel is full. A
// lost connection cancels the attempt's context. The SDK sends heartbeats.
type Exchange interface {
	// Output reports a piece of the agent's output.
	Output(chunk OutputChunk)
	// Progress reports the agent's current activity, for live views.
	Progress(p Progress)
	// Observe reports a tool call that the agent makes without asking. ObserveResult reports its
	// result.
	Observe(call ToolCall)
	ObserveResult(result ToolResult)
	// Call asks for a verdict on a tool call and waits for it. The kernel answers after it has
	// stored the call and its verdict on disk. After [VerdictRun] the provider makes the call and
	// reports it by Result.
	Call(ctx context.Context, call ToolCall) (Verdict, error)
	// Result reports the result of a gated call.
	Result(result ToolResult)
	// Usage reports the attempt's totals so far.
	Usage(u Usage)
	// Checkpoint saves the data that a resume of the attempt needs. It returns when the data is on
	// disk.
	Checkpoint(ctx context.Context, c Checkpoint) error
}

// Stream names a channel of the agent's output.
type Stream string

// StreamText is the text for the user, StreamRaw the agent's event stream, kept for the record, and
// StreamStderr its diagnostics.
const (
	StreamText   Stream = "text"
	StreamRaw    Stream = "raw"
	StreamStderr Stream = "stderr"
)

// OutputChunk is a piece of output. Chunks of one stream are concatenated unchanged.
type OutputChunk struct {
	Stream Stream
	Text   string
}

// Progress is the agent's current activity, for live views. A later Progress replaces an earlier one.
// A Progress is not journaled.
type Progress struct {
	Message string // one line, such as "editing main.go"; may be empty
	Turn    int    // model replies so far, 0 if unknown
	Tool    string // the tool last used, "" if none
}

// Effect classifies a tool call by whether it may be repeated after a crash.
type Effect string

// An EffectNone call changes nothing, an EffectIdempotent call has the same effect when repeated,
// and an EffectOnce call must not be repeated.
const (
	EffectNone       Effect = "none"
	EffectIdempotent Effect = "idempotent"
	EffectOnce       Effect = "once"
)

// ToolCall is one use of a tool. CallID is unique in the attempt and stays the same after a resume.
type ToolCall struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args,omitempty"`   // a JSON object
	Effect Effect          `json:"effect,omitempty"` // default: once

	// Turn is the number of the model reply that requested the call, from 1; 0 if unknown.
	Turn int `json:"turn,omitempty"`
	// Category is the kind of operation, which policies match. "" means unknown; the policy's
	// default applies.
	Category Category `json:"category,omitempty"`
	// Paths are the files that the call reads or changes: relative to the working directory,
	// cleaned, with slashes.
	Paths []string `json:"paths,omitempty"`
	// Command is the command line of a terminal command, unchanged.
	Command string `json:"command,omitempty"`
	// Destructive marks a call that may lose work which nothing restores. Only a user allows it, whatever the policy says.
	Destructive bool `json:"destructive,omitempty"`
	// External marks a call that is also of [CategoryExternal], beside its category; the stricter decision counts.
	External bool `json:"external,omitempty"`
	// Preview is shown to the user who approves the call, such as a unified diff; at most
	// [MaxPreview] bytes. Reason is the agent's own reason. Both are stored only with the question to
	// the user, not with the call.
	Preview string `json:"-"`
	Reason  string `json:"-"`
}

// MaxPreview is the maximum size of [ToolCall.Preview] in bytes. The provider truncates the
// preview.
const MaxPreview = 4 << 10

// Category is a kind of operation.
type Category string

// The categories of tool calls (REQUIREMENTS C6).
const (
	CategoryFileRead        Category = "file_read"
	CategoryFileWrite       Category = "file_write"
	CategoryFileDelete      Category = "file_delete"
	CategoryDirectoryCreate Category = "directory_create"
	CategoryTerminal        Category = "terminal_command"
	CategoryExternal        Category = "external_request"
)

// Categories returns all categories, least harmful first.
func Categories() []Category {
	return []Category{
		CategoryFileRead, CategoryDirectoryCreate, CategoryFileWrite, CategoryFileDelete, CategoryTerminal, CategoryExternal,
	}
}

// ToolStatus is the result status of a tool call.
type ToolStatus string

// The statuses of a tool result.
const (
	ToolSuccess ToolStatus = "success"
	ToolError   ToolStatus = "error"
	ToolTimeout ToolStatus = "timeout"
	ToolDenied  ToolStatus = "denied"
)

// ToolResult is the result of a tool call.
type ToolResult struct {
	CallID string          `json:"call_id"`
	Status ToolStatus      `json:"status"`
	Result json.RawMessage `json:"result,omitempty"` // any JSON value
}

// VerdictAction is the kernel's decision on a gated call.
type VerdictAction string

// VerdictRun: make the call. VerdictDeny: do not make it; give the model the reason. VerdictSkip:
// do not make it; continue as if it returned nothing. VerdictUse: do not make it; an earlier
// execution finished, and the verdict carries its result.
const (
	VerdictRun  VerdictAction = "run"
	VerdictDeny VerdictAction = "deny"
	VerdictSkip VerdictAction = "skip"
	VerdictUse  VerdictAction = "use"
)

// Verdict is the kernel's answer to one gated call.
type Verdict struct {
	CallID string
	Action VerdictAction
	Reason string      // for deny and skip: text for the model; for run: the user's comment
	Result *ToolResult // the earlier execution's result, for use
}

// Checkpoint is the data that a provider gets back after a crash. A Checkpoint is sent in one message, which
// is limited to 64 MiB.
type Checkpoint struct {
	Turn int
	Blob []byte
}

// Usage counts the tokens of one attempt. A nil pointer means unknown.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"`       // without cache reads and writes
	OutputTokens     *int64   `json:"output_tokens,omitempty"`      // reasoning included
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`  // input served from a cache
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"` // input written to a cache
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"`   // part of OutputTokens
	CostUSD          *float64 `json:"cost_usd,omitempty"`           // reported by the agent, or computed from a price list
}
