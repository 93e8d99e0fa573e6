package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// HookAction acts at a point of the run: it notifies, runs or measures something, and decides how
// the run continues. The hook's on_error setting decides how an error is handled.
type HookAction interface {
	Describe() Component
	Run(ctx context.Context, req HookRequest) (HookAnswer, error)
}

// HookPoint names a moment of a run.
type HookPoint string

// The points of a run. At session_end, the answer of a hook has no effect.
const (
	SessionStart          HookPoint = "session_start"
	SessionEnd            HookPoint = "session_end"
	StageStart            HookPoint = "stage_start"
	StageEnd              HookPoint = "stage_end"
	IterationStart        HookPoint = "iteration_start"
	IterationEnd          HookPoint = "iteration_end"
	ParallelProviderStart HookPoint = "parallel_provider_start"
	ParallelProviderEnd   HookPoint = "parallel_provider_end"
)

// The notification points. By the notify settings, an action informs the user of an open question,
// or that the run has paused, failed, aborted or completed. The run does not wait, and neither an
// answer nor an error has an effect.
//
// [HookRequest.Message] is one complete line. A kernel may add further points.
const (
	SessionWaiting   HookPoint = "waiting"
	SessionPaused    HookPoint = "paused"
	SessionFailed    HookPoint = "failed"
	SessionAborted   HookPoint = "aborted"
	SessionCompleted HookPoint = "completed"
)

// HookRequest describes one firing of a hook.
type HookRequest struct {
	// Key stays the same over retries and restarts of a run, and no other call of any run has it. Use it as the
	// idempotency key of external effects.
	Key       string
	Point     HookPoint
	Session   string
	Node      string // the node's ID; empty at session points
	Stage     string
	Iteration int // 0 outside iterations
	Provider  string
	Status    string // status of the run or the stage
	// Config holds the hook's own keys as a JSON object. It lacks the keys that the kernel reads:
	// stage, condition, action, message, accept_feedback, timeout, on_timeout and on_error.
	Config json.RawMessage
	// Message is the hook's message, "" if it has none; at a notification point, the notification.
	Message string
	// Timeout is the hook's timeout; 0 means the action's own default. An action that exceeds it
	// stops its work and answers with a failure of kind hook_timeout, without changing the run.
	Timeout time.Duration
	// Summary is the agent's summary of the iteration, Result the normalized result.json, and
	// Artifact a preview of the node's artifact. Each is empty if it does not exist.
	Summary  string
	Result   json.RawMessage
	Artifact string
	// ArtifactFile is the node's artifact. For a check it is the artifact that the agent has just
	// written, with carried fields and without measured ones. InputArtifactFile is the node's input
	// artifact, StartArtifactFile the pipeline's. They are absolute paths of read-only YAML files,
	// each empty if there is none.
	ArtifactFile, InputArtifactFile, StartArtifactFile string
	// StageDir is the absolute path of the directory of the node's stage, which may hold its
	// scripts; "" if it has none.
	StageDir string
	// Context is the text that hooks have injected so far.
	Context string
	WorkDir string
}

// Action is a hook's answer.
type Action string

// The answers of a hook.
const (
	ActionContinue      Action = "continue"
	ActionPause         Action = "pause"
	ActionAbort         Action = "abort"
	ActionRestartStage  Action = "restart_stage"
	ActionModifyContext Action = "modify_context"
)

// HookAnswer is a hook's reply. The zero value continues.
type HookAnswer struct {
	Action  Action
	Reason  string // for pause and abort
	Context string // text for the agent, for modify_context and restart_stage
	// Facts are a check's measurements, as a JSON object. Outcome may only make the node's outcome
	// worse ("fail"). Both are empty for other actions.
	Facts   json.RawMessage
	Outcome string
}
