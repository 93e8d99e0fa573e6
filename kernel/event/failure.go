package event

import (
	"cmp"
	"encoding/json"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FailureData is the error record (DIALECT B8).
type FailureData struct {
	Code          string  `json:"code,omitempty"`
	ErrorType     string  `json:"error_type"`
	Message       string  `json:"message"`
	Retryable     bool    `json:"retryable"`
	RetryAfter    float64 `json:"retry_after_seconds,omitempty"`
	Node          string  `json:"node,omitempty"`
	Stage         string  `json:"stage,omitempty"` // the node's id again, as Bash has it
	Step          string  `json:"step,omitempty"`
	Iteration     int     `json:"iteration,omitempty"`
	Attempt       int     `json:"attempt,omitempty"`
	Cause         string  `json:"cause,omitempty"`
	Detail        string  `json:"detail,omitempty"`
	Remedy        string  `json:"remedy,omitempty"`
	ResumeCommand string  `json:"resume_command,omitempty"`
	// Collateral: the attempt fell with a process that another call brought down; making it again
	// uses up no try.
	Collateral bool `json:"collateral,omitempty"`
	// Escalate: the attempt ended because a person did not answer it, or a crash cut it off under recovery: fail; a
	// person is asked before it is made again.
	Escalate bool `json:"escalate,omitempty"`
	// System: the machine had no more to give (space, descriptors, memory; see [failure.OfSystem]). Nothing is known of
	// the work; the run pauses, and it is made again when that goes on, which uses up no try.
	System bool `json:"system,omitempty"`
	// Faults are those of an artifact that is missing or not what the contract says, at most [MaxFaults].
	Faults   []Fault `json:"faults,omitempty"`
	Usage    *Usage  `json:"usage,omitempty"`
	ExitCode *int    `json:"exit_code,omitempty"`
}

// FailureOf is the record of an error, with no text longer than events carry. Where it happened, the caller adds.
func FailureOf(err error) FailureData {
	f := failure.From(err)
	kind := cmp.Or(f.Kind, failure.Internal)
	hint, system := failure.OfSystem(err)
	return FailureData{
		Code: kind.Code(), ErrorType: string(kind), Message: Truncate(f.Message, MaxText), Retryable: f.Retryable, RetryAfter: f.RetryAfterSeconds,
		Detail: TruncateFront(f.Detail, MaxText), Remedy: Truncate(cmp.Or(hint, f.Hint), MaxText), System: system,
	}
}

// SystemFailure is the failure of the machine that the end of an effect tells of, nil for any other end.
func SystemFailure(e Event) *FailureData {
	var d struct {
		FailureData              // of an error
		Failure     *FailureData `json:"failure"` // of what else ends
		Error       string       `json:"error"`   // of an answer that there is none of
	}
	switch {
	case json.Unmarshal(e.Data, &d) != nil:
		return nil
	case d.System:
		d.Message = cmp.Or(d.Message, d.Error)
		return &d.FailureData
	case d.Failure != nil && d.Failure.System:
		return d.Failure
	default:
		return nil
	}
}
