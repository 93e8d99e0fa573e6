package state

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// MaxDecisions is the number of past decisions that a loop keeps.
const MaxDecisions = 20

// Phase is the next step of an iteration loop, or the event that it waits for.
type Phase string

// The phases, in the order of one iteration.
const (
	PhaseEnter    Phase = "enter"    // the entry checks, before the first iteration, are due or running
	PhaseReady    Phase = "ready"    // the next attempt can start
	PhaseAttempt  Phase = "attempt"  // an attempt is in flight
	PhaseSteps    Phase = "steps"    // the steps of the node are running
	PhaseMeasure  Phase = "measure"  // the checks of the iteration are due or running
	PhaseSettle   Phase = "settle"   // the iteration's artifact and outcome are being settled
	PhaseBackoff  Phase = "backoff"  // waiting to retry
	PhaseDecide   Phase = "decide"   // the strategy is to be asked or is deciding
	PhaseQuestion Phase = "question" // the strategy's question is to be sent to a provider
	PhaseAsking   Phase = "asking"   // a provider is answering the strategy's question
	PhaseDelay    Phase = "delay"    // waiting for the next iteration
	PhaseCutOff   Phase = "cut_off"  // the attempt was interrupted and the user must decide
	PhaseSettled  Phase = "settled"  // done: see Outcome and Reason
)

// Known reports whether p is one of the phases.
func (p Phase) Known() bool {
	return slices.Contains([]Phase{
		PhaseEnter, PhaseReady, PhaseAttempt, PhaseSteps, PhaseMeasure, PhaseSettle, PhaseBackoff,
		PhaseDecide, PhaseQuestion, PhaseAsking, PhaseDelay, PhaseCutOff, PhaseSettled,
	}, p)
}

// Check is the progress of the strategy's decision before the first iteration.
type Check string

// The states of the check before the first iteration.
const (
	CheckDue    Check = "due"
	CheckPassed Check = "passed" // the strategy answered continue
)

// Loop is the iteration loop of one stage at one location: of a node, of a branch, or of a step.
type Loop struct {
	Progress
	Hooks // of the iterations' points, with the texts for the prompts of the current or next iteration
	// ContextConsumed is the number of bytes of [UserInput.Context] in the prompt of the current or last attempt.
	ContextConsumed int `json:"heard,omitempty"`
	LastIteration
	CallInFlight
	StrategyState
	LoopOutcome
}

// Progress is the place of a loop in its iterations and attempts.
type Progress struct {
	Phase Phase `json:"phase"`
	// Check is the progress of check_before. It is "" without check_before, and once the first attempt of the first
	// iteration has begun.
	Check     Check `json:"check,omitempty"`
	Iteration int   `json:"iteration"` // the current or last iteration; 0 before the first
	Completed int   `json:"completed"` // number of the last iteration completed in this visit
	// Before is the number of the last iteration before the latest stage retry. Iterations up to Before count as
	// completed, although the last of them failed, so that their numbers are not reused.
	Before  int `json:"before,omitempty"`
	Attempt int `json:"attempt"` // the current or last attempt; 0 before the first and after a crash
	// Uncharged counts the attempts of this iteration that failed because their process crashed during another call. They
	// do not count against the attempt limit.
	Uncharged int `json:"spared,omitempty"`
	// ArtifactRetries counts the attempts of this iteration for an invalid artifact. They do not count against the
	// attempt limit.
	ArtifactRetries int `json:"heals,omitempty"`
	// Faults are the faults of the last artifact, nil once an iteration is complete. The agent gets them even if
	// later attempts were interrupted.
	Faults []event.Fault `json:"faults,omitempty"`
	// IterationStartedAt is the start time of the iteration, nil between iterations (REQUIREMENTS U049).
	IterationStartedAt *time.Time `json:"iteration_started_at,omitempty"`
}

// LastIteration is the result of the last iteration, or of the iteration that is being settled.
type LastIteration struct {
	// Hint is the decision that the agent of the last iteration asked for, Result the iteration's normalized result.
	Hint   string     `json:"hint,omitempty"`
	Result *event.Ref `json:"result,omitempty"`
	// CompletedAttempt is the attempt whose outcome is being settled. Measured are the check results so far: the entry
	// checks and those of the current iteration. Verdict is the outcome of the last iteration, "" without a contract,
	// and Message its reason. Feedback is the text for the next iteration, FailedSteps the steps that it names.
	CompletedAttempt *event.AttemptCompleteData `json:"attempted,omitempty"`
	Measured         []Measurement              `json:"measured,omitempty"`
	Verdict          string                     `json:"verdict,omitempty"`
	Message          string                     `json:"message,omitempty"`
	Feedback         *event.Ref                 `json:"feedback,omitempty"`
	FailedSteps      []string                   `json:"failed_steps,omitempty"`
	// Content is as in [event.Settlement].
	Content string `json:"content,omitempty"`
	// Artifact is the artifact of the last iteration. It may be invalid if the iteration needs the user.
	Artifact *event.Ref `json:"made,omitempty"`
}

// CallInFlight is the provider call that is in flight or was interrupted.
type CallInFlight struct {
	// Reserved is the reservation of the call in flight, by the scope of the ceiling.
	Reserved map[string]Amount `json:"reserved,omitempty"`
	// Checkpoint is the latest checkpoint of an attempt that is in flight or was interrupted. Calls are the tool calls
	// since that checkpoint that the kernel decides on, in order. A resumed attempt receives both.
	Checkpoint *event.CheckpointData `json:"checkpoint,omitempty"`
	Calls      []Call                `json:"calls,omitempty"`
}

// StrategyState is the state of the loop's termination strategy.
type StrategyState struct {
	// Decisions are the last [MaxDecisions] decisions, oldest first.
	Decisions []Decision `json:"decisions,omitempty"`
	// Strategy is the strategy's own state.
	Strategy json.RawMessage `json:"strategy,omitempty"`
	// Round counts the questions answered for the current decision. Question is the open question and Answer the latest
	// answer.
	Round    int                       `json:"round,omitempty"`
	Question *event.QuestionData       `json:"question,omitempty"`
	Answer   *event.StrategyAnswerData `json:"answer,omitempty"`
}

// LoopOutcome is the end of a loop.
type LoopOutcome struct {
	// Outcome and Reason are set when the loop is settled; so is Failure if the loop failed. EndedByJudge is true if
	// the strategy ended the loop with the answer to its own question.
	Outcome      string             `json:"outcome,omitempty"`
	Reason       string             `json:"reason,omitempty"`
	EndedByJudge bool               `json:"judged,omitempty"`
	Failure      *event.FailureData `json:"failure,omitempty"`
}

// CountedIterations returns the number of iterations that count for the maximum and for the strategy. They were
// completed since the visit or its latest stage retry began.
func (l Loop) CountedIterations() int { return l.Completed - l.Before }

// Measurement is the result of a check.
type Measurement struct {
	ID     string `json:"id"`
	At     string `json:"at"` // enter or exit
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
	// Skipped is true if the plan leaves the check out; Passed is then true too.
	Skipped bool `json:"left_out,omitempty"`
	// Facts is the file with all measured facts.
	Facts *event.Ref `json:"facts,omitempty"`
	// Failure is the reason why the check could not be measured.
	Failure *event.FailureData `json:"failure,omitempty"`
}

// Call is a journaled tool call that the kernel decides on; Result is nil until the result is known.
type Call struct {
	Call   event.ToolCallData    `json:"call"`
	Result *event.ToolResultData `json:"result,omitempty"`
}

// Decision is a past decision that is kept for the strategy.
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

// Allowance returns the limit of the loop's call, which is the smallest reservation of any scope. It is nil if there is
// no ceiling.
func (l Loop) Allowance() *Amount {
	var a Amount
	for _, part := range l.Reserved {
		a = a.Min(part)
	}
	if a == (Amount{}) {
		return nil
	}
	return &a
}

// SettleKey returns the key for settling the loop's latest attempt.
func (l Loop) SettleKey(loc event.Location) event.Key {
	return loc.Key(event.KeySettle, max(l.Attempt, 1))
}

// CutOffKey returns the key of the loop's interrupted attempt.
func (l Loop) CutOffKey(loc event.Location) event.Key { return loc.Key(event.KeyAttempt, l.Attempt) }

// LoopRef is an iteration loop with its location: in a stage node, in one of its steps, or in a branch of a parallel
// block.
type LoopRef struct {
	Location event.Location // of the loop's current iteration
	Loop     Loop
}

// PendingEffect returns the key of the effect that the loop waits for, as far as the state shows it.
func (r LoopRef) PendingEffect() (event.Key, bool) {
	if calls := r.Loop.HookCursor.firingCall(r.Location); calls != nil {
		return calls[0].Key, true
	}
	switch r.Loop.Phase {
	case PhaseAttempt:
		return r.Location.Key(event.KeyAttempt, r.Loop.Attempt), true
	case PhaseAsking:
		return r.Location.Key(event.KeyQuestion, r.Loop.Round+1), true
	default:
		return "", false
	}
}

// CurrentIteration returns the number of the loop's current iteration, 0 before the first. While the strategy is asked,
// it is the last completed iteration.
func (l Loop) CurrentIteration() int {
	switch l.Phase {
	case PhaseDecide, PhaseQuestion, PhaseAsking:
		return l.Completed
	default:
		return l.Iteration
	}
}

// IsFresh reports whether nothing of the loop has begun.
func (l Loop) IsFresh() bool {
	return (l.Phase == PhaseReady || l.Phase == PhaseEnter) && len(l.Measured) == 0 && l.Iteration == 0 && l.Completed == 0 && l.HookCursor.Point == ""
}
