package event

import (
	"encoding/json"
	"time"
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
	PipelineFile     string `json:"pipeline_file,omitempty"` // as Bash has it: as asked for by path, else absolute; for people
	Stage            string `json:"stage,omitempty"`         // loops
	StageName        string `json:"stage_name,omitempty"`    // loops
	JournalVersion   int    `json:"journal_version"`
	SchedulerVersion int    `json:"scheduler_version"`
	PlanSHA256       string `json:"plan_sha256"` // of plan.json
	SkipDelays       bool   `json:"skip_delays,omitempty"`
	Runs             int    `json:"runs,omitempty"` // how often the whole pipeline runs, 0 for once
	// Providers says what the names in parallel blocks stand for, by name as written.
	Providers map[string]Provider `json:"providers,omitempty"`
	// Flow is what the command line said over the way that the pipeline takes; the plan has it, too.
	Flow *FlowData `json:"flow,omitempty"`
	// Input is the artifact that the run starts with, nil where no node makes artifacts or looks at one. Given are
	// those of nodes, by path, that the run was given instead of making them.
	Input *Ref           `json:"input,omitempty"`
	Given map[string]Ref `json:"given,omitempty"`
}

// FlowData is what the command line said over the way that a pipeline takes, for whoever reads what was done.
type FlowData struct {
	Skip      []string           `json:"skip,omitempty"`       // ids of nodes
	Timeouts  map[string]float64 `json:"timeouts,omitempty"`   // seconds, by node id
	MaxCycles int                `json:"max_cycles,omitempty"` // limit of every edge
	Timeout   float64            `json:"timeout,omitempty"`    // seconds, of the run
	Start     string             `json:"start,omitempty"`      // id of the node that it begins with
	ExitAfter string             `json:"exit_after,omitempty"` // id of the node after which it is complete
	// Supervised: a person is asked after every node but the last. Iterate are ids of nodes after which one is asked.
	Supervised bool     `json:"supervised,omitempty"`
	Iterate    []string `json:"iterate,omitempty"`
}

// Provider is what a provider's name stands for.
type Provider struct {
	Type  string `json:"type"`            // canonical name
	Model string `json:"model,omitempty"` // its default, "" if it has none
}

// KernelStartData is a kernel taking hold of the session.
type KernelStartData struct {
	PID       int    `json:"pid"`
	StartTime string `json:"start_time"` // the process's, against reuse of pids
	Version   string `json:"version"`
	// Callbacks are the hook points at which the program that holds the session wants to be called, in the
	// order in which it said so.
	Callbacks []string `json:"callbacks,omitempty"`
	// Waits: somebody is there to be asked, so the session keeps running while a question is open.
	Waits bool `json:"waits,omitempty"`
}

// SessionImportedData is a state rebuilt from damaged or foreign files; folding starts anew at it.
type SessionImportedData struct {
	State  json.RawMessage `json:"state"`
	Reason string          `json:"reason"`
	// History is a file with the iterations completed so far, a list as in state.json; nil: the events
	// before tell.
	History *Ref `json:"history,omitempty"`
}

// SessionResumedData says that a paused, failed or crashed run goes on.
type SessionResumedData struct {
	By      string `json:"by,omitempty"`
	Context string `json:"context,omitempty"` // text for the agent's next prompt
	Renew   bool   `json:"renew,omitempty"`   // the run's guardrail, if it is used up, begins anew
	// SkipFailedStep: the steps that failed count as done; ResetCycles: all cycles are counted anew.
	SkipFailedStep bool `json:"skip_failed_step,omitempty"`
	ResetCycles    bool `json:"reset_cycles,omitempty"`
	// Again is the path of a node that is entered once more, also where the run was complete.
	Again string `json:"again,omitempty"`
}

// SessionPausedData says why the run waits.
type SessionPausedData struct {
	Kind     string `json:"kind"` // signal, user, hook, approval, escalation, error
	Reason   string `json:"reason,omitempty"`
	Question string `json:"question,omitempty"` // id of the question that it waits for
	Code     string `json:"code,omitempty"`     // of what made a person needed
	By       string `json:"by,omitempty"`
}

// SessionCompleteData ends a run.
type SessionCompleteData struct {
	Reason string `json:"reason"`
	// ExitAfter is the id of the node after which the pipeline was to end, where nodes are left for that.
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
	Runs     int    `json:"runs,omitempty"` // iterations at most, pipelines only
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

// RunStartData begins one run of a pipeline: of a nested one by node_run_start, of the whole one from the
// second on by run_start.
type RunStartData struct {
	Name string `json:"name"`
	N    int    `json:"n"`   // from 1; of a nested one in this visit
	Max  int    `json:"max"` // how many there will be
}

// ProviderStartData begins the work of one provider of a parallel block.
type ProviderStartData struct {
	Provider string   `json:"provider"` // as written, or its as
	Stages   []string `json:"stages"`
}

// ProviderCompleteData ends it, well or badly: parallel_provider_complete or parallel_provider_failed.
type ProviderCompleteData struct {
	Provider string       `json:"provider"`
	Status   string       `json:"status"` // complete or failed
	Failure  *FailureData `json:"failure,omitempty"`
}

// The names of artifacts: what a node's contract asks for, and what a parallel block makes when all its providers are
// done.
const (
	Artifact = "artifact"
	Manifest = "manifest"
)

// ArtifactWrittenData names a file that a node made for others.
type ArtifactWrittenData struct {
	Name string `json:"name"`
	Ref  Ref    `json:"artifact"`
}

// NodeCompleteData is the commit of a transition: how the visit ended and where the run goes.
type NodeCompleteData struct {
	Name      string           `json:"name"`
	Status    string           `json:"status"` // complete, failed, skipped
	Reason    string           `json:"reason,omitempty"`
	Outcome   string           `json:"outcome"`         // an outcome of package plan
	To        string           `json:"to"`              // the node path entered next, or done, failed, pause, abort
	Edge      string           `json:"edge,omitempty"`  // name of the counted back edge taken
	Cycle     int              `json:"cycle,omitempty"` // its count with this return
	Limit     int              `json:"limit,omitempty"`
	Print     string           `json:"print,omitempty"` // digest of what the nodes of the cycle put out in this pass
	Artifacts map[string]Ref   `json:"artifacts,omitempty"`
	Failure   *FailureData     `json:"failure,omitempty"`
	Result    *json.RawMessage `json:"result,omitempty"`
}

// IterationStartData begins an iteration with its first attempt.
type IterationStartData struct {
	Stage    string `json:"stage"`
	Type     string `json:"type"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Inside parallel blocks: the stage's name once more, as the Bash engine calls it there, and its
	// position in the block.
	Ref        string `json:"ref,omitempty"`
	StageIndex *int   `json:"stage_index,omitempty"`
}

// Signals are the agent's signals of result.json.
type Signals struct {
	PlateauSuspected bool   `json:"plateau_suspected"`
	Risk             string `json:"risk"`
	Notes            string `json:"notes"`
}

// IterationCompleteData is an iteration whose attempt succeeded. The history of state.json is built
// from it, so it repeats the parts of the result that history shows.
type IterationCompleteData struct {
	ResultFile     string   `json:"result_file,omitempty"` // absolute; the journal's writer adds it
	Decision       string   `json:"decision"`              // continue, stop, error: for people
	Reason         string   `json:"reason"`
	Ask            string   `json:"ask,omitempty"` // the same words, when the agent said so itself
	Stage          string   `json:"stage,omitempty"`
	Summary        string   `json:"summary"`
	FilesTouched   []string `json:"files_touched,omitempty"`
	ItemsCompleted []string `json:"items_completed,omitempty"`
	Signals        Signals  `json:"signals"`
	Result         Ref      `json:"result"`
	Output         *Ref     `json:"output,omitempty"` // nil: the agent said nothing
	Usage          *Usage   `json:"usage,omitempty"`
	Model          string   `json:"model,omitempty"`         // really used
	AgentVersion   string   `json:"agent_version,omitempty"` // really used
	DurationMS     int64    `json:"duration_ms"`             // of the attempt
	Settlement
}

// WorkerCompleteData says that an agent in a parallel block is done; its result has been normalized. It
// informs readers of the Bash engine's events.
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

// The rungs of the ladder.
const (
	RungAttempt = "attempt"
	RungStep    = "step" // an attempt of a step
	RungStage   = "stage"
	RungHeal    = "heal" // an attempt because of a bad artifact, with its faults; N and Max are of those
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
	Failure    *FailureData    `json:"failure,omitempty"` // for error
}

// QuestionData is a question that a strategy wants put to a provider. The prompt lies in a file.
type QuestionData struct {
	Prompt   Ref    `json:"prompt"`
	Provider string `json:"provider"`
	Model    string `json:"model,omitempty"`
}

// StrategyQuestionData puts a strategy's question to a provider.
type StrategyQuestionData struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Round    int    `json:"round"`
}

// StrategyAnswerData is what came of the question.
type StrategyAnswerData struct {
	Error     string `json:"error,omitempty"`      // why there is no answer, or not all of it
	ErrorType string `json:"error_type,omitempty"` // the kind of that
	System    bool   `json:"system,omitempty"`     // as in [FailureData]; the question is put again when the run goes on
	Answer    *Ref   `json:"answer,omitempty"`
	Round     int    `json:"round"`
	Usage     *Usage `json:"usage,omitempty"`
}

// JudgeStartData tells readers of the Bash engine's events that a judge is asked.
type JudgeStartData struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// JudgeCompleteData tells them what the judge said.
type JudgeCompleteData struct {
	Status string          `json:"status"` // success or failed
	Reason string          `json:"reason,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// TimerSetData arms a timer; it is due After after the event's time.
type TimerSetData struct {
	Purpose string        `json:"purpose"` // delay, backoff, guardrail
	After   time.Duration `json:"after_ns"`
}

// StageTransitionData informs about a transition already committed.
type StageTransitionData struct {
	From    string `json:"from_stage"`
	To      string `json:"to_stage"`
	Outcome string `json:"outcome"`
	// DurationMS and TokensUsed are what the visit took, without the time in which nobody held the session; tokens are
	// those that went in and came out, nil if nobody said.
	DurationMS int64  `json:"duration_ms"`
	TokensUsed *int64 `json:"tokens_used,omitempty"`
	CycleCount int    `json:"cycle_count"` // returns over the edge taken, 0 for one forward
	RetryCount int    `json:"retry_count"` // attempts made again and stage retries, in the visit
}

// ToolCallData is a gated call's intent (on disk before the verdict) or an observed call.
type ToolCallData struct {
	CallID   string          `json:"call_id"`
	Tool     string          `json:"tool"`
	Effect   string          `json:"effect,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
	ArgsRef  *Ref            `json:"args_ref,omitempty"` // instead of Args where they are large
	Observed bool            `json:"observed,omitempty"`
	// Turn, Category, Paths and Command are what the provider says of the call, see [sdk.ToolCall].
	Turn     int      `json:"turn,omitempty"`
	Category string   `json:"category,omitempty"`
	Paths    []string `json:"paths,omitempty"`
	Command  string   `json:"command,omitempty"`

	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Rule names what of the policy decided: a rule's name, "protected", a category, "default"; "" where nothing did.
	Rule string `json:"rule,omitempty"`
	// Question is the id of the question that a person decided it by, "" where the policy did.
	Question string `json:"question,omitempty"`
}

// ToolResultData is the end of a tool call.
type ToolResultData struct {
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool,omitempty"` // of the call, where that is known; Turn, too
	Turn      int             `json:"turn,omitempty"`
	Status    string          `json:"status"`
	Result    json.RawMessage `json:"result,omitempty"`
	ResultRef *Ref            `json:"result_ref,omitempty"`
	Observed  bool            `json:"observed,omitempty"`
	// DurationMS is the time since the call was allowed, or told of, at least 1; 0 if that is not known.
	DurationMS int64 `json:"duration_ms,omitempty"`
	// TokensUsed are those that the attempt had taken by then, in and out; 0 if the provider has not said.
	TokensUsed int64 `json:"tokens_used,omitempty"`
}

// CheckpointData refers to what a provider wants back after a crash.
type CheckpointData struct {
	Turn int `json:"turn"`
	Blob Ref `json:"blob"`
}
