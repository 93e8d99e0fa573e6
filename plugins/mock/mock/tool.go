package mock

import (
	"cmp"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// ToolCall is a configured tool call. A call has no effects other than the effects below.
type ToolCall struct {
	Tool string `json:"tool"`
	// CallID is unique in the attempt. Default call-1, call-2 and so on.
	CallID string          `json:"call_id,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	// Effect is the effect of the call: none, idempotent or once (default).
	Effect sdk.Effect `json:"effect,omitempty"`
	// These fields describe the call as in [sdk.ToolCall]: policies decide by them, and the user sees them.
	Category sdk.Category `json:"category,omitempty"`
	Paths    []string     `json:"paths,omitempty"`
	Command  string       `json:"command,omitempty"`
	Preview  string       `json:"preview,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Turn     int          `json:"turn,omitempty"`

	Destructive bool `json:"destructive,omitempty"`
	External    bool `json:"external,omitempty"`
	// Gated makes the call wait for the kernel's verdict; other calls are only reported.
	Gated bool `json:"gated,omitempty"`
	// CountFile is a file, relative to the work directory, that gets one line for each call that is made. The lines make
	// repeated effects visible.
	CountFile string `json:"count_file,omitempty"`
	// Result is any JSON value. Status is success (default), error, timeout or denied.
	Result json.RawMessage `json:"result,omitempty"`
	Status sdk.ToolStatus  `json:"status,omitempty"`
	// OnDeny is the reaction to a denied call: "continue" (default) or "fail".
	OnDeny string `json:"on_deny,omitempty"`
	// DelayMS is the duration of the call, in milliseconds.
	DelayMS int `json:"delay_ms,omitempty"`
	// Checkpoint is saved after the call: a resumed attempt begins with the next call.
	Checkpoint bool `json:"checkpoint,omitempty"`
}

const denyFail = "fail"

// call returns the request of the tool call.
func (c ToolCall) call() sdk.ToolCall {
	return sdk.ToolCall{
		CallID: c.CallID, Tool: c.Tool, Args: c.Args, Effect: cmp.Or(c.Effect, sdk.EffectOnce), Turn: c.Turn,
		Category: c.Category, Paths: c.Paths, Command: c.Command, Preview: c.Preview, Reason: c.Reason,
		Destructive: c.Destructive, External: c.External,
	}
}

// result returns the result of the tool call.
func (c ToolCall) result() sdk.ToolResult {
	return sdk.ToolResult{CallID: c.CallID, Status: cmp.Or(c.Status, sdk.ToolSuccess), Result: c.Result}
}

// checkpointBlob is the blob of the mock's checkpoints.
type checkpointBlob struct {
	// NextCall is the index of the first tool call after the checkpoint.
	NextCall int `json:"next_call"`
}

// resultWithoutCall returns the result of a call that was not made: the verdict's result, or the status denied.
func resultWithoutCall(call ToolCall, v sdk.Verdict) sdk.ToolResult {
	if v.Action == sdk.VerdictUse && v.Result != nil {
		result := *v.Result
		result.CallID = call.CallID
		return result
	}
	return sdk.ToolResult{CallID: call.CallID, Status: sdk.ToolDenied}
}
