package event

import "encoding/json"

// HookStartData reports that a hook's action begins; its condition is true.
type HookStartData struct {
	Hook   int    `json:"hook"`   // number of the hook in the plan; above [plan.MaxHooks] a callback
	Point  string `json:"point"`  // a hook point of package plan
	Action string `json:"action"` // pause, confirm, callback or a plugin's
}

// HookSkippedData reports that a hook was not called. If a crash loses the event, the condition is evaluated again.
type HookSkippedData struct {
	Hook    int    `json:"hook"`
	Point   string `json:"point"`
	Reason  string `json:"reason"`
	Warning bool   `json:"warning,omitempty"` // its condition could not be evaluated
}

// The answers of hooks: how the run continues.
const (
	HookContinue      = "continue"
	HookPause         = "pause"
	HookAbort         = "abort"
	HookRestartStage  = "restart_stage"
	HookModifyContext = "modify_context"
)

// HookCompleteData ends a hook, in hook_complete and hook_timeout. Answer is the run's reaction: after an error or
// timeout it is the hook's on_error or on_timeout.
type HookCompleteData struct {
	Hook       int             `json:"hook"`
	Point      string          `json:"point"`
	Action     string          `json:"action"`
	Answer     string          `json:"answer"`
	Reason     string          `json:"reason,omitempty"`
	Context    *Ref            `json:"context,omitempty"`  // text for the agent
	Facts      json.RawMessage `json:"facts,omitempty"`    // of a check
	Outcome    string          `json:"outcome,omitempty"`  // fail: the stage_end hook failed the stage
	Question   string          `json:"question,omitempty"` // of a confirm: the question that was answered
	Failure    *FailureData    `json:"error,omitempty"`
	DurationMS int64           `json:"duration_ms"`
}
