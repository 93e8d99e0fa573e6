package event

import (
	"encoding/json"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Ref refers to a file of the session's store. Path is relative to the session directory and uses
// slashes.
type Ref struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"` // lower-case hex
	Size   int64  `json:"size"`             // bytes
}

// SessionStartData begins a run. It resets the fold.
type SessionStartData struct {
	Mode             string `json:"mode"` // loop or pipeline
	Pipeline         string `json:"pipeline,omitempty"`
	PipelineFile     string `json:"pipeline_file,omitempty"` // the path as requested, absolute for a name; for readers
	Stage            string `json:"stage,omitempty"`         // in mode loop: the node's id
	StageName        string `json:"stage_name,omitempty"`    // in mode loop: the stage's name
	JournalVersion   int    `json:"journal_version"`
	SchedulerVersion int    `json:"scheduler_version"`
	PlanSHA256       string `json:"plan_sha256"` // of plan.json
	SkipDelays       bool   `json:"skip_delays,omitempty"`
	Runs             int    `json:"runs,omitempty"` // number of runs of the whole pipeline, 0 for one
	// Providers are the resolved providers of parallel blocks, by name as written.
	Providers map[string]Provider `json:"providers,omitempty"`
	// Flow are the command line's overrides of the pipeline's path; the plan has them too.
	Flow *plan.PathOverrides `json:"flow,omitempty"`
	// Input is the artifact that the run starts with, nil if no node makes or inspects artifacts. SuppliedArtifacts
	// are artifacts of nodes, by path, that were supplied instead of produced.
	Input             *Ref           `json:"input,omitempty"`
	SuppliedArtifacts map[string]Ref `json:"given,omitempty"`
}

// Provider is a resolved provider.
type Provider struct {
	Type  string `json:"type"`            // canonical name
	Model string `json:"model,omitempty"` // its default, "" if it has none
}

// KernelStartData reports that a kernel has taken the session's lock.
type KernelStartData struct {
	PID       int    `json:"pid"`
	StartTime string `json:"start_time"` // of the process, to detect reuse of pids
	Version   string `json:"version"`
	// Callbacks are the hook points at which the program that holds the session is called, in the order of
	// registration.
	Callbacks []string `json:"callbacks,omitempty"`
	// Waits means that the user can answer while the session runs, so that it keeps running while a question is open.
	Waits bool `json:"waits,omitempty"`
	// Confined means that an agent of the run, or a command that it may have changed, runs in a sandbox. Unprotected
	// means that the run can ask the user, and that one of them can read the user's signing key.
	Confined    bool `json:"confined,omitempty"`
	Unprotected bool `json:"unprotected,omitempty"`
	// Sandboxes are the modes of providers that have a sandbox, or are confined by default and are not ("none").
	Sandboxes map[string]string `json:"sandboxes,omitempty"`
}

// SessionImportedData is a state rebuilt from damaged or foreign files; the fold restarts from it.
type SessionImportedData struct {
	State  json.RawMessage `json:"state"`
	Reason string          `json:"reason"`
	// History is a file with the iterations completed so far, a list as in state.json; nil if the earlier events
	// contain them.
	History *Ref `json:"history,omitempty"`
}

// SessionResumedData continues a paused, failed or crashed run.
type SessionResumedData struct {
	By      string `json:"by,omitempty"`
	Context string `json:"context,omitempty"` // text for the agent's next prompt
	Renew   bool   `json:"renew,omitempty"`   // renews the run's guardrail if it is used up
	// SkipFailedStep counts failed steps as done; ResetCycles resets all cycle counts.
	SkipFailedStep bool `json:"skip_failed_step,omitempty"`
	ResetCycles    bool `json:"reset_cycles,omitempty"`
	// ReenterNode is the path of a node to enter again, also if the run was complete.
	ReenterNode string `json:"again,omitempty"`
}

// SessionPausedData is the reason of a pause.
type SessionPausedData struct {
	Kind     string `json:"kind"` // signal, user, hook, approval, escalation, error
	Reason   string `json:"reason,omitempty"`
	Question string `json:"question,omitempty"` // id of the question that the run waits for
	Code     string `json:"code,omitempty"`     // of the cause of an escalation
	By       string `json:"by,omitempty"`
}

// SessionCompleteData ends a run.
type SessionCompleteData struct {
	Reason string `json:"reason"`
	// ExitAfter is the id of the node at which the pipeline ended early, "" otherwise.
	ExitAfter string `json:"exit_after,omitempty"`
}

// SessionAbortedData ends a run by request.
type SessionAbortedData struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// NodeStartData begins a visit of a node.
type NodeStartData struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // the stage's name, "" for inline prompts
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Runs     int    `json:"runs,omitempty"` // maximum number of iterations, only in mode pipeline
}

// BlockStartData begins a visit of a parallel block; it is the data of a node_start.
type BlockStartData struct {
	Name      string          `json:"name"`
	Kind      string          `json:"kind"`      // parallel
	Providers json.RawMessage `json:"providers"` // as written
	Stages    []string        `json:"stages"`    // ids
}

// PipelineStartData begins a visit of a nested pipeline; it is the data of a node_start.
type PipelineStartData struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // pipeline
	Pipeline string `json:"pipeline"`
	Runs     int    `json:"runs"`
}

// RunStartData begins one run of a pipeline: of a nested pipeline in node_run_start; of the whole pipeline, from its
// second run on, in run_start.
type RunStartData struct {
	Name string `json:"name"`
	N    int    `json:"n"`   // from 1; in node_run_start counted in the visit
	Max  int    `json:"max"` // total number of runs
}

// ProviderStartData begins the work of one provider of a parallel block.
type ProviderStartData struct {
	Provider string   `json:"provider"` // the value of as, else the name as written
	Stages   []string `json:"stages"`
}

// ProviderCompleteData ends the work of a provider, in parallel_provider_complete or parallel_provider_failed.
type ProviderCompleteData struct {
	Provider string       `json:"provider"`
	Status   string       `json:"status"` // complete or failed
	Failure  *FailureData `json:"failure,omitempty"`
}

// Artifact is the name of the artifact of a node's contract. Manifest is the name of the artifact that a parallel
// block makes when all its providers are done.
const (
	Artifact = "artifact"
	Manifest = "manifest"
)

// ArtifactWrittenData names a file that a node made for other nodes.
type ArtifactWrittenData struct {
	Name string `json:"name"`
	Ref  Ref    `json:"artifact"`
}

// NodeCompleteData commits a transition: the outcome of the visit and the next position of the run.
type NodeCompleteData struct {
	Name      string         `json:"name"`
	Status    string         `json:"status"` // complete, failed, skipped
	Reason    string         `json:"reason,omitempty"`
	Outcome   string         `json:"outcome"`         // an outcome of package plan
	To        string         `json:"to"`              // the node path entered next, or done, failed, pause, abort
	Edge      string         `json:"edge,omitempty"`  // name of the counted back edge taken
	Cycle     int            `json:"cycle,omitempty"` // the edge's count, including this transition
	Limit     int            `json:"limit,omitempty"`
	PassHash  string         `json:"print,omitempty"` // digest of the outputs of the cycle's nodes in this pass
	Artifacts map[string]Ref `json:"artifacts,omitempty"`
	Failure   *FailureData   `json:"failure,omitempty"`
}

// IterationStartData begins an iteration with its first attempt.
type IterationStartData struct {
	Stage    string `json:"stage"`
	Type     string `json:"type"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Ref and StageIndex are set inside parallel blocks: the stage's name again, as in the Bash engine, and its
	// position in the block.
	Ref        string `json:"ref,omitempty"`
	StageIndex *int   `json:"stage_index,omitempty"`
}

// Signals are the agent's signals in result.json.
type Signals struct {
	PlateauSuspected bool   `json:"plateau_suspected"`
	Risk             string `json:"risk"`
	Notes            string `json:"notes"`
}

// IterationCompleteData is an iteration whose attempt succeeded. The history of state.json is built from it, so it
// repeats the parts of the result that the history shows.
type IterationCompleteData struct {
	ResultFile     string   `json:"result_file,omitempty"` // absolute; the journal's writer adds it
	Decision       string   `json:"decision"`              // continue, stop, error: for readers
	Reason         string   `json:"reason"`
	AgentDecision  string   `json:"ask,omitempty"` // the decision, if the agent itself set it
	Stage          string   `json:"stage,omitempty"`
	Summary        string   `json:"summary"`
	FilesTouched   []string `json:"files_touched,omitempty"`
	ItemsCompleted []string `json:"items_completed,omitempty"`
	Signals        Signals  `json:"signals"`
	Result         Ref      `json:"result"`
	Output         *Ref     `json:"output,omitempty"` // nil: the agent wrote nothing
	Usage          *Usage   `json:"usage,omitempty"`
	Model          string   `json:"model,omitempty"`         // actual
	AgentVersion   string   `json:"agent_version,omitempty"` // actual
	DurationMS     int64    `json:"duration_ms"`             // of the attempt
	Settlement
}

// WorkerCompleteData reports that an agent in a parallel block is done and its result is normalized. It is for
// readers of the Bash engine's events.
type WorkerCompleteData struct {
	ResultFile string `json:"result_file,omitempty"` // absolute; the journal's writer adds it
	ExitCode   int    `json:"exit_code"`
	Result     Ref    `json:"result"`
}

// RetryData begins another attempt of the same iteration, or of the whole stage.
type RetryData struct {
	Rung string `json:"rung"` // one of the Rung… constants
	N    int    `json:"n"`    // this attempt's number
	Max  int    `json:"max"`
}

// The rungs of the retry ladder.
const (
	RungAttempt  = "attempt"
	RungStep     = "step" // an attempt of a step
	RungStage    = "stage"
	RungArtifact = "heal" // an attempt because of an invalid artifact; N and Max count only these
)

// DecisionData is a termination strategy's reply.
type DecisionData struct {
	Strategy   string          `json:"strategy"`
	Action     string          `json:"action"` // continue, stop, error, ask
	Reason     string          `json:"reason,omitempty"`
	Confidence float64         `json:"confidence,omitempty"`
	State      json.RawMessage `json:"state,omitempty"`
	Round      int             `json:"round,omitempty"` // questions answered before this reply
	Question   *QuestionData   `json:"question,omitempty"`
	Failure    *FailureData    `json:"failure,omitempty"` // for action error
}

// QuestionData is a strategy's question to a provider. The prompt is in a file.
type QuestionData struct {
	Prompt   Ref    `json:"prompt"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
}

// StrategyQuestionData sends a strategy's question to a provider.
type StrategyQuestionData struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Round    int    `json:"round"`
}

// StrategyAnswerData is the result of a strategy's question.
type StrategyAnswerData struct {
	Error     string `json:"error,omitempty"`      // why the answer is missing or incomplete, or a cancellation's kind
	ErrorType string `json:"error_type,omitempty"` // the kind of the error
	System    bool   `json:"system,omitempty"`     // as in [FailureData]; the question is repeated after the resume
	Answer    *Ref   `json:"answer,omitempty"`
	Round     int    `json:"round"`
	Usage     *Usage `json:"usage,omitempty"`
}

// JudgeStartData reports a question to a judge, for readers of the Bash engine's events.
type JudgeStartData struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// JudgeCompleteData reports the judge's answer, for readers of the Bash engine's events.
type JudgeCompleteData struct {
	Status string          `json:"status"` // success or failed
	Reason string          `json:"reason,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// TimerSetData arms a timer that is due at the event's time plus After.
type TimerSetData struct {
	Purpose string        `json:"purpose"` // delay, backoff, guardrail
	After   time.Duration `json:"after_ns"`
}

// StageTransitionData reports a transition that is already committed.
type StageTransitionData struct {
	From    string `json:"from_stage"`
	To      string `json:"to_stage"`
	Outcome string `json:"outcome"`
	// DurationMS and TokensUsed are the visit's consumption. The duration excludes the time in which no kernel held
	// the session; tokens are input and output, nil if unknown.
	DurationMS int64  `json:"duration_ms"`
	TokensUsed *int64 `json:"tokens_used,omitempty"`
	CycleCount int    `json:"cycle_count"` // transitions over the edge taken, 0 for an edge that leads forward
	RetryCount int    `json:"retry_count"` // repeated attempts and stage retries in the visit
}

// ToolCallData is an observed tool call, or a tool call that the kernel decides on. The event of a decided call
// is on the disk before the call is made.
type ToolCallData struct {
	CallID   string          `json:"call_id"`
	Tool     string          `json:"tool"`
	Effect   string          `json:"effect,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	ArgsRef  *Ref            `json:"args_ref,omitempty"` // replaces Args if they are large
	Observed bool            `json:"observed,omitempty"`
	// Turn, Category, Paths and Command are the provider's description of the call, see [sdk.ToolCall].
	Turn     int      `json:"turn,omitempty"`
	Category string   `json:"category,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	Command  string   `json:"command,omitempty"`

	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Rule is the part of the policy that decided: a rule's name, "protected", a category, "default"; "" if none did.
	Rule string `json:"rule,omitempty"`
	// Question is the id of the question by which the user decided, "" if the policy did.
	Question string `json:"question,omitempty"`
}

// ToolResultData is the end of a tool call.
type ToolResultData struct {
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool,omitempty"` // of the call, if known; the same holds for Turn
	Turn      int             `json:"turn,omitempty"`
	Status    string          `json:"status"`
	Result    json.RawMessage `json:"result,omitempty"`
	ResultRef *Ref            `json:"result_ref,omitempty"`
	Observed  bool            `json:"observed,omitempty"`
	// DurationMS is the time since the call was allowed or reported, at least 1; 0 if it is unknown.
	DurationMS int64 `json:"duration_ms,omitempty"`
	// TokensUsed is the attempt's consumption so far, input and output; 0 if the provider has not reported it.
	TokensUsed int64 `json:"tokens_used,omitempty"`
}

// CheckpointData refers to the data that a provider gets again after a crash.
type CheckpointData struct {
	Turn int `json:"turn"`
	Blob Ref `json:"blob"`
}

// Settlement is the outcome of an iteration under a contract; zero without a contract. In JSON its members are inlined
// in iteration_complete.
type Settlement struct {
	Outcome string `json:"outcome,omitempty"` // an outcome of package plan
	Message string `json:"message,omitempty"` // the reason of the outcome, "" for success
	// Artifact is the file of the valid artifact, nil if there is none.
	Artifact *Ref `json:"artifact,omitempty"`
	// Partial is the artifact of an agent that needs the user, as the agent wrote it, if it is not valid.
	Partial *Ref `json:"partial,omitempty"`
	// Feedback is the text for the work that follows the outcome: the next iteration, the next stage retry, or the
	// target of the edge.
	Feedback *Ref `json:"feedback,omitempty"`
	// FailedSteps are ids of steps of the edge's target that must be repeated.
	FailedSteps []string `json:"failed_steps,omitempty"`
	// ArtifactRetries is the number of extra requests for the artifact in the iteration, if it is valid in the end.
	ArtifactRetries int `json:"healed,omitempty"`
	// Content is a digest of the artifact's data and the project's files, where passes of cycles are compared.
	Content string `json:"content,omitempty"`
}

// The kinds of late deliveries.
const (
	LateEnd      = "end"       // the end of an effect that the state no longer waited for
	LateResult   = "result"    // a success reported by a provider
	LateOutput   = "output"    // output of the agent
	LateToolCall = "tool_call" // a tool call, requested or made
	LateFile     = "file"      // a file at a path of an attempt
)

// LateDeliveryData is a delivery for an attempt that was already abandoned, and so does not count. It only informs.
type LateDeliveryData struct {
	Kind string `json:"what"` // one of the Late… constants
	// Attempt is the number of the attempt, if known, and AbandonReason the kind of the failure that ended it, ""
	// if a crash did.
	Attempt       int    `json:"of,omitempty"`
	AbandonReason string `json:"given_up,omitempty"`
	// Count and Bytes are the number and size of outputs and tool calls; Tools are the names of the first tools.
	Count int      `json:"count,omitempty"`
	Bytes int64    `json:"bytes,omitempty"`
	Tools []string `json:"tools,omitempty"`
	// Path is the path of a file relative to the session. KeptFile is the file with the late content. Its path differs
	// from Path if a later attempt or a reader could mistake the file for current content.
	Path     string `json:"path,omitempty"`
	KeptFile *Ref   `json:"kept,omitempty"`
	// Type and Data are the event that ended the effect.
	Type Type            `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}
