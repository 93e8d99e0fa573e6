package sdk

import (
	"context"
	"encoding/json"
	"time"
)

// HookAction acts at a point of the run: it sends, runs or measures something and says how the run
// goes on. An error is treated by the hook's on_error setting.
type HookAction interface {
	Describe() Component
	Run(ctx context.Context, req HookRequest) (HookAnswer, error)
}

// HookPoint names a moment of a run.
type HookPoint string

// The eight points. SessionEnd can neither pause nor modify.
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

// The points at which an action is called to tell people how a session stands, by the user's notify settings: a
// question waits for a person, or the run has ended in one of four ways. They only inform: the run does not wait, and
// neither an answer nor an error has an effect. Message is one line that says it all. A host may add further points.
const (
	SessionWaiting   HookPoint = "waiting"
	SessionPaused    HookPoint = "paused"
	SessionFailed    HookPoint = "failed"
	SessionAborted   HookPoint = "aborted"
	SessionCompleted HookPoint = "completed"
)

// HookRequest is one firing of a hook.
type HookRequest struct {
	// Key is stable over retries and restarts: use it as idempotency key of what you do.
	Key       string
	Point     HookPoint
	Session   string
	Node      string // the node's id; empty at session points
	Stage     string
	Iteration int // 0 outside iterations
	Provider  string
	Status    string // the run's or the stage's status word
	// Config are the hook's own keys as a JSON object: all of its entry but stage, condition, action,
	// message, accept_feedback, timeout, on_timeout and on_error, which the kernel reads.
	Config json.RawMessage
	// Message is the hook's message, "" if it has none; at a point that informs, what there is to tell.
	Message string
	// Timeout is how long the action may take, by the hook's timeout; 0: nobody said, the action takes
	// its own default. One that took longer ends what it does, answers with a failure of kind
	// hook_timeout, and has changed nothing of the run.
	Timeout time.Duration
	// Summary is the agent's own summary of the iteration, Result the normalized result.json, and
	// Artifact a preview of the node's artifact; each empty where there is none.
	Summary  string
	Result   json.RawMessage
	Artifact string
	// ArtifactFile is the artifact of the node: the one that it has made, for a check the one that its agent has just
	// left, with what was carried over and without what is measured. InputArtifactFile is the one that the node works
	// from, StartArtifactFile the one that its pipeline began with. They are absolute paths of YAML files, to be read
	// only, each empty where there is none.
	ArtifactFile, InputArtifactFile, StartArtifactFile string
	// StageDir is the absolute path of the folder of the stage that the node runs, where scripts of it may lie; "" where
	// it runs none.
	StageDir string
	// Context is the text that hooks have injected so far.
	Context string
	WorkDir string
}

// Action is what a hook answers.
type Action string

// The five answers.
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
	// Facts are what a check measured, as a JSON object; Outcome may only make the node's outcome
	// worse ("fail"), never better. Both empty for other actions.
	Facts   json.RawMessage
	Outcome string
}
