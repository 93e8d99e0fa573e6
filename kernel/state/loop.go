package state

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// MaxDecisions is how many past decisions a loop keeps.
const MaxDecisions = 20

// Phase says what an iteration loop does next or waits for.
type Phase string

// The phases, in the order of one iteration.
const (
	PhaseEnter    Phase = "enter"    // the checks before the first iteration are to be made, or are being made
	PhaseReady    Phase = "ready"    // the next attempt can start
	PhaseAttempt  Phase = "attempt"  // an attempt is in flight
	PhaseSteps    Phase = "steps"    // the steps of the node are in work
	PhaseMeasure  Phase = "measure"  // the checks of the iteration are to be made, or are being made
	PhaseSettle   Phase = "settle"   // its artifact and outcome are being settled
	PhaseBackoff  Phase = "backoff"  // waiting to retry
	PhaseDecide   Phase = "decide"   // the strategy is to be asked, or is being asked
	PhaseQuestion Phase = "question" // the strategy's question is to be put to a provider
	PhaseAsking   Phase = "asking"   // the strategy's question is with a provider
	PhaseDelay    Phase = "delay"    // waiting for the next iteration
	PhaseCutOff   Phase = "cut_off"  // a crash cut the attempt off and a person has to say what next
	PhaseSettled  Phase = "settled"  // done: Outcome and Reason say how
)

// Check is how far the question before the first iteration has got.
type Check string

// The conditions of the check before the first iteration.
const (
	CheckDue    Check = "due"
	CheckPassed Check = "passed" // the strategy said continue
)

// Loop is the iteration loop of one stage in one place: of a node, of a branch, of a step.
type Loop struct {
	Phase Phase `json:"phase"`
	// Check is about the question whether there is to be a first iteration (check_before); "" where none is
	// asked, and once that iteration's first attempt has begun.
	Check     Check `json:"check,omitempty"`
	Iteration int   `json:"iteration"` // the one in work, or the last one; 0 before the first
	Completed int   `json:"completed"` // number of the last one completed in this visit
	// Before is the number of the last iteration before the newest stage retry. Those up to it are counted as
	// completed, though the last of them failed: their numbers are not used again.
	Before  int `json:"before,omitempty"`
	Attempt int `json:"attempt"` // the attempt in work or last made; 0 before the first and after a crash
	// Spared counts the attempts of this iteration that fell with another call's process and used up
	// no try.
	Uncharged int `json:"spared,omitempty"`
	// Heals counts the attempts of this iteration that were made because of a bad artifact: they use up no try.
	ArtifactRetries int `json:"heals,omitempty"`
	// Faults are what was wrong with the last artifact, nil once an iteration is complete: the agent is told, whatever
	// cut off the attempts since.
	Faults []event.Fault `json:"faults,omitempty"`
	// IterationStartedAt is nil while no iteration is unfinished (REQUIREMENTS U049).
	IterationStartedAt *time.Time `json:"iteration_started_at,omitempty"`
	// Gate is the iteration's hook point that the loop is at or passed last. Injected are texts of hooks for
	// the prompts of the iteration in work, or of the next one.
	Gate     HookCursor  `json:"gate,omitzero"`
	Injected []event.Ref `json:"injected,omitempty"`
	// Heard is how many bytes of the run's [State.Context] the attempt in work, or last made, was given.
	Heard int `json:"heard,omitempty"`
	// Hint is what the agent of the last iteration asked for in so many words, Result its normalized
	// result.
	Hint   string     `json:"hint,omitempty"`
	Result *event.Ref `json:"result,omitempty"`
	// Attempted is the attempt whose outcome is being settled. Measured are the checks made so far: those at the
	// entry, and those of the iteration in work. Verdict is the outcome of the last iteration, "" without a contract, and
	// Message why; Feedback is what the next one is told of it, FailedSteps what it said of steps.
	Attempted   *event.AttemptCompleteData `json:"attempted,omitempty"`
	Measured    []Measurement              `json:"measured,omitempty"`
	Verdict     string                     `json:"verdict,omitempty"`
	Message     string                     `json:"message,omitempty"`
	Feedback    *event.Ref                 `json:"feedback,omitempty"`
	FailedSteps []string                   `json:"failed_steps,omitempty"`
	// Made is what the last iteration made for others, of one that needs a person also where it is not valid.
	Made *event.Ref `json:"made,omitempty"`
	// Reserved is what is set aside for the attempt under way, by the scope of the ceiling.
	Reserved map[string]Amount `json:"reserved,omitempty"`
	// Checkpoint is the newest one of an attempt that is under way or was cut off by a crash, and
	// Calls are the gated tool calls since, in order: together they are what a resumed attempt is given.
	Checkpoint *event.CheckpointData `json:"checkpoint,omitempty"`
	Calls      []Call                `json:"calls,omitempty"`
	// Decisions are the last [MaxDecisions], oldest first.
	Decisions []Decision `json:"decisions,omitempty"`
	// Strategy is the strategy's own state.
	Strategy json.RawMessage `json:"strategy,omitempty"`
	// Round counts the questions answered in the decision being made; Question is the open one and
	// Answer the newest answer.
	Round    int                       `json:"round,omitempty"`
	Question *event.QuestionData       `json:"question,omitempty"`
	Answer   *event.StrategyAnswerData `json:"answer,omitempty"`
	// Outcome and Reason are set when settled; Failure too if the loop failed. Judged says that the strategy
	// ended it by the answer to a question of its own.
	Outcome string             `json:"outcome,omitempty"`
	Reason  string             `json:"reason,omitempty"`
	Judged  bool               `json:"judged,omitempty"`
	Failure *event.FailureData `json:"failure,omitempty"`
}

// Counted is how many iterations count for the maximum and for the strategy: those completed since the visit, or its
// newest stage retry, began.
func (l Loop) Counted() int { return l.Completed - l.Before }

// Measurement is a check that was made.
type Measurement struct {
	ID     string `json:"id"`
	At     string `json:"at"` // enter or exit
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
	// LeftOut: the plan leaves it out; it has Passed then, too.
	LeftOut bool `json:"left_out,omitempty"`
	// Facts is the file with all that it says.
	Facts *event.Ref `json:"facts,omitempty"`
	// Failure is why nothing could be measured.
	Failure *event.FailureData `json:"failure,omitempty"`
}

// Call is a gated tool call whose intent is on disk; Result is nil until it is known.
type Call struct {
	Call   event.ToolCallData    `json:"call"`
	Result *event.ToolResultData `json:"result,omitempty"`
}

// Decision is one decision kept for the strategy.
type Decision struct {
	Iteration int    `json:"iteration"`
	Hint      string `json:"hint"`
	Action    string `json:"action"`
	Reason    string `json:"reason,omitempty"`
}

func (l Loop) clone() Loop {
	l.Decisions = slices.Clone(l.Decisions)
	l.Calls, l.Injected = slices.Clone(l.Calls), slices.Clone(l.Injected)
	l.Measured, l.Reserved = slices.Clone(l.Measured), maps.Clone(l.Reserved)
	return l
}
