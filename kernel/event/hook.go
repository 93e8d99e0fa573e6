package event

import "encoding/json"

// HookStartData says that a hook's action begins; its condition held.
type HookStartData struct {
	Hook   int    `json:"hook"`   // number of the hook, see package plan; above its [plan.MaxHooks] a callback
	Point  string `json:"point"`  // see package plan
	Action string `json:"action"` // pause, confirm, callback or a plugin's
}

// HookSkippedData says that a hook was not called. Losing it with a crash only asks the condition again.
type HookSkippedData struct {
	Hook    int    `json:"hook"`
	Point   string `json:"point"`
	Reason  string `json:"reason"`
	Warning bool   `json:"warning,omitempty"` // its condition could not be evaluated
}

// The answers of hooks: how the run goes on.
const (
	HookContinue      = "continue"
	HookPause         = "pause"
	HookAbort         = "abort"
	HookRestartStage  = "restart_stage"
	HookModifyContext = "modify_context"
)

// HookCompleteData is the end of a hook, of hook_complete and hook_timeout. Answer is what the run does, whatever
// the action said: after an error it is the hook's on_error or on_timeout.
type HookCompleteData struct {
	Hook       int             `json:"hook"`
	Point      string          `json:"point"`
	Action     string          `json:"action"`
	Answer     string          `json:"answer"`
	Reason     string          `json:"reason,omitempty"`
	Context    *Ref            `json:"context,omitempty"`  // text for the agent
	Facts      json.RawMessage `json:"facts,omitempty"`    // of a check
	Outcome    string          `json:"outcome,omitempty"`  // fail: at stage_end the stage has failed
	Question   string          `json:"question,omitempty"` // of a confirm: the question that was answered
	Failure    *FailureData    `json:"error,omitempty"`
	DurationMS int64           `json:"duration_ms"`
}
