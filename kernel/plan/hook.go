package plan

import "encoding/json"

// HookPoint names a moment of a run at which hooks are called.
type HookPoint string

// The eight points (REQUIREMENTS U240). At session_end nothing is left to pause or to modify.
const (
	PointSessionStart          HookPoint = "session_start"
	PointSessionEnd            HookPoint = "session_end"
	PointStageStart            HookPoint = "stage_start"
	PointStageEnd              HookPoint = "stage_end"
	PointIterationStart        HookPoint = "iteration_start"
	PointIterationEnd          HookPoint = "iteration_end"
	PointParallelProviderStart HookPoint = "parallel_provider_start"
	PointParallelProviderEnd   HookPoint = "parallel_provider_end"
)

// HookPoints are all points in the order of a run.
var HookPoints = []HookPoint{
	PointSessionStart, PointStageStart, PointParallelProviderStart, PointIterationStart,
	PointIterationEnd, PointParallelProviderEnd, PointStageEnd, PointSessionEnd,
}

// The two actions of the kernel itself; every other action is a component of a plugin.
const (
	ActionPause   = "pause"
	ActionConfirm = "confirm"
)

// ActionCheck is the plugin's action that runs the checks of nodes.
const ActionCheck = "check"

// MaxHooks is the maximum number of hooks of a pipeline.
const MaxHooks = 999

// Hook is one entry of a pipeline's hooks. The hooks of a pipeline are called for its own nodes; an embedded pipeline
// has its own.
type Hook struct {
	Number    int       `json:"number"`              // from 1, by point and then by position in the file
	Point     HookPoint `json:"point"`               // when it is called
	Stage     string    `json:"stage,omitempty"`     // only at the node, or stage of a block, with this id; "" for all
	Condition string    `json:"condition,omitempty"` // an expression; "" for always
	Action    string    `json:"action"`
	// Message is the question of a confirm or the reason of a pause.
	Message string `json:"message,omitempty"`
	// AcceptFeedback lets the answer to a confirm be a text. The stage then restarts with this text.
	AcceptFeedback bool `json:"accept_feedback,omitempty"`
	// Supervise is true if the hook comes from supervised or require_human_approval, or from an override.
	Supervise bool `json:"supervise,omitempty"`
	// Timeout is in seconds, 0: the action's own default.
	Timeout float64 `json:"timeout,omitempty"`
	// OnTimeout and OnError say how the run continues after an action that timed out or failed; "" is FallbackPause.
	OnTimeout Fallback `json:"on_timeout,omitempty"`
	OnError   Fallback `json:"on_error,omitempty"`
	// Config are the entry's other keys as written: the action's configuration, an object or empty.
	Config json.RawMessage `json:"config,omitempty"`
	Source string          `json:"at,omitempty"` // its source, file:line:column, or the flag that asks for it
}

// Fallback is how a run continues when the action of a hook times out or fails.
type Fallback string

// The fallbacks.
const (
	FallbackPause    Fallback = "pause"
	FallbackContinue Fallback = "continue"
	FallbackAbort    Fallback = "abort"
)
