package event

import (
	"cmp"
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FailureData is the record of a failure in events and in the state (DIALECT B8).
type FailureData struct {
	Code          string  `json:"code,omitempty"`
	ErrorType     string  `json:"error_type"`
	Message       string  `json:"message"`
	Retryable     bool    `json:"retryable"`
	RetryAfter    float64 `json:"retry_after_seconds,omitempty"`
	Node          string  `json:"node,omitempty"`
	Stage         string  `json:"stage,omitempty"` // the node's id again, as in the Bash engine
	Step          string  `json:"step,omitempty"`
	Iteration     int     `json:"iteration,omitempty"`
	Attempt       int     `json:"attempt,omitempty"`
	Cause         string  `json:"cause,omitempty"`
	Detail        string  `json:"detail,omitempty"`
	Remedy        string  `json:"remedy,omitempty"`
	ResumeCommand string  `json:"resume_command,omitempty"`
	// Collateral means that the attempt failed because its process crashed during another call; a repeat does not
	// count as an attempt.
	Collateral bool `json:"collateral,omitempty"`
	// Escalate means that the user must be asked before a repeat: the attempt ended unanswered, or a crash
	// interrupted it under recovery: fail.
	Escalate bool `json:"escalate,omitempty"`
	// System means that the work itself has no result: the machine ran out of a resource (space, descriptors, memory; see
	// [failure.SystemHint]), or a recorded file was changed. The run pauses, and the work is repeated after the resume
	// without charge.
	System bool `json:"system,omitempty"`
	// Faults are the faults of a missing or invalid artifact, at most [MaxFaults].
	Faults   []Fault `json:"faults,omitempty"`
	Usage    *Usage  `json:"usage,omitempty"`
	ExitCode *int    `json:"exit_code,omitempty"`
}

// NewFailureData returns the record of an error, with texts truncated to the limits of events. The caller adds the
// location.
func NewFailureData(err error) FailureData {
	f := failure.From(err)
	kind := cmp.Or(f.Kind, failure.Internal)
	hint, system := failure.SystemHint(err)
	return FailureData{
		Code: kind.Code(), ErrorType: string(kind), Message: Truncate(f.Message, MaxText), Retryable: f.Retryable, RetryAfter: f.RetryAfterSeconds,
		Detail: TruncateFront(f.Detail, MaxText), Remedy: Truncate(cmp.Or(hint, f.Hint), MaxText), System: system || kind == failure.Tampered,
	}
}

// SystemFailure returns the failure of an effect that ended without a result of the work, nil for any other end.
func SystemFailure(e Event) *FailureData {
	var d struct {
		FailureData                 // in error
		Failure     *FailureData    `json:"failure"` // in other ends
		Error       json.RawMessage `json:"error"`   // a failure in ends of hooks, a text in strategy_answer
	}
	var ofHook FailureData
	switch {
	case json.Unmarshal(e.Data, &d) != nil:
		return nil
	case d.System:
		var text string
		_ = json.Unmarshal(d.Error, &text) // other ends have none
		d.Message = cmp.Or(d.Message, text)
		return &d.FailureData
	case d.Failure != nil && d.Failure.System:
		return d.Failure
	case json.Unmarshal(d.Error, &ofHook) == nil && ofHook.System:
		return &ofHook
	default:
		return nil
	}
}

// Fault is one error in an artifact.
type Fault struct {
	Path    string `json:"path"` // JSON path, "$" for the whole
	Code    string `json:"code"` // VAL-001 to VAL-015 (REQUIREMENTS C6)
	Message string `json:"message"`
}

// MaxFaults is the maximum number of faults in an event (REQUIREMENTS C6).
const MaxFaults = 10
