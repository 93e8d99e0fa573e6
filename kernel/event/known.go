package event

// Known reports whether this version knows the type. A reader that meets an unknown one skips it,
// unless the event says must.
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
