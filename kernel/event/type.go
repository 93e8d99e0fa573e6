package event

// Type names a kind of event.
type Type string

// The base events of the Bash engine; their order and payload are kept.
const (
	SessionStart             Type = "session_start"
	SessionComplete          Type = "session_complete"
	NodeStart                Type = "node_start"
	NodeComplete             Type = "node_complete" // the commit of a transition
	IterationStart           Type = "iteration_start"
	IterationComplete        Type = "iteration_complete"
	WorkerComplete           Type = "worker_complete"
	ParallelProviderStart    Type = "parallel_provider_start"
	ParallelProviderComplete Type = "parallel_provider_complete" // its work is done; the Bash engine has no failure event
	Error                    Type = "error"
	JudgeStart               Type = "judge_start"    // informs: the first question of a decision is sent
	JudgeComplete            Type = "judge_complete" // informs: a decision with questions is made
)

// The events of this engine that change state.
const (
	KernelStart            Type = "kernel_start"
	SessionImported        Type = "session_imported"
	SessionPaused          Type = "session_paused"
	SessionResumed         Type = "session_resumed"
	SessionAborted         Type = "session_aborted"
	ParallelProviderFailed Type = "parallel_provider_failed"
	NodeRunStart           Type = "node_run_start" // a nested pipeline begins another run
	RunStart               Type = "run_start"      // the whole pipeline begins another run
	AttemptStart           Type = "attempt_start"  // the first attempt of an iteration begins, after check_before
	Retry                  Type = "retry"
	Decision               Type = "decision"
	StrategyQuestion       Type = "strategy_question" // a strategy's question is sent to a provider
	StrategyAnswer         Type = "strategy_answer"   // the provider's answer
	TimerSet               Type = "timer_set"
	TimerFired             Type = "timer_fired"
	Control                Type = "control"
	QuestionAsked          Type = "question_asked"
	QuestionAnswered       Type = "question_answered"
	HookStart              Type = "hook_start"
	HookComplete           Type = "hook_complete"
	HookTimeout            Type = "hook_timeout"
	HookSkipped            Type = "hook_skipped"
	InputChecked           Type = "input_checked"    // of a node that requires or inspects its input artifact
	AttemptComplete        Type = "attempt_complete" // of a node with a contract: checks and artifact follow
	CheckResult            Type = "check_result"
	StepsPlanned           Type = "steps_planned" // the steps of a node
	StepStart              Type = "step_start"
	StepComplete           Type = "step_complete"
	StepBlocked            Type = "step_blocked"
	ToolCall               Type = "tool_call"
	ToolResult             Type = "tool_result"
	Checkpoint             Type = "checkpoint"
	ArtifactWritten        Type = "artifact_written"
)

// The events that only inform: a fold ignores them and they are written with the next commit.
const (
	StageTransition    Type = "stage_transition"
	CycleStart         Type = "cycle_start"    // a counted edge has been taken; follows from node_complete
	BudgetWarning      Type = "budget_warning" // the cost has exceeded policy.cost.warn_usd
	StageTimeout       Type = "stage_timeout"
	StageComplete      Type = "stage_complete"
	Phase              Type = "phase"
	Turn               Type = "turn"
	Progress           Type = "progress"
	ArtifactWarning    Type = "artifact_warning"
	ArtifactInvalid    Type = "artifact_invalid" // the related error has the faults too
	ArtifactHealed     Type = "artifact_healed"
	ContextTrimmed     Type = "context_trimmed"
	ContextBuilt       Type = "context_built" // the size of a prompt with a limit
	PluginStarted      Type = "plugin_started"
	PluginCrashed      Type = "plugin_crashed"
	TmuxSessionCleaned Type = "tmux_session_cleaned"
	LateDelivery       Type = "late_delivery" // a delivery of an attempt after it was abandoned
	SurvivorEnded      Type = "survivor_ended"
	SecretFound        Type = "secret_found"    // in a file that an agent wrote
	Notified           Type = "notified"        // a notification was sent, or failed
	MessageRefused     Type = "message_refused" // a message or resolution file does not count
)

// Informative reports whether losing the event in a crash has no consequences. Such events need no sync of their own.
func (t Type) Informative() bool {
	switch t {
	case JudgeStart, JudgeComplete, StageTransition, CycleStart, BudgetWarning, StageTimeout, StageComplete, Phase, Turn, Progress, ArtifactWarning, ArtifactInvalid, ArtifactHealed,
		ContextTrimmed, ContextBuilt, PluginStarted, PluginCrashed, TmuxSessionCleaned, LateDelivery, SurvivorEnded, SecretFound, Notified, MessageRefused:
		return true
	default:
		return false
	}
}

// Known reports whether this version knows the type. A reader skips an unknown type unless the event is critical.
func (t Type) Known() bool {
	switch t {
	case SessionStart, SessionComplete, NodeStart, NodeRunStart, RunStart, NodeComplete, IterationStart, IterationComplete, WorkerComplete,
		ParallelProviderStart, ParallelProviderComplete, ParallelProviderFailed, Error, JudgeStart, JudgeComplete, StrategyQuestion, StrategyAnswer,
		KernelStart, SessionImported, SessionPaused, SessionResumed, SessionAborted, AttemptStart, Retry, Decision, TimerSet, TimerFired,
		Control, QuestionAsked, QuestionAnswered, HookStart, HookComplete, HookTimeout, HookSkipped, CheckResult, AttemptComplete, StepsPlanned,
		StepStart, StepComplete, StepBlocked, ToolCall, ToolResult, Checkpoint,
		ArtifactWritten, InputChecked:
		return true
	default:
		return t.Informative()
	}
}
