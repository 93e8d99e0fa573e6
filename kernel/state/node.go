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

// Node is one node of the plan: the visit it is in, or the last one.
type Node struct {
	Visit     int        `json:"visit"`          // from 1; re-entries through an edge or feedback count it up
	Run       int        `json:"run"`            // from 1; repeats of a nested pipeline, counted on over its visits
	Runs      int        `json:"runs,omitempty"` // of a nested pipeline: how many began in this visit
	Status    NodeStatus `json:"status"`
	Outcome   string     `json:"outcome,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Output    *event.Ref `json:"output,omitempty"` // of the last iteration
	// Loop is the iteration loop of a stage node. Branches and Steps hold one loop each for the
	// providers of a parallel block and the items of a node's steps.
	Loop     Loop              `json:"loop"`
	Branches map[string]Branch `json:"branches,omitempty"`
	Steps    map[string]Step   `json:"steps,omitempty"`
	// Order are the ids of the steps in the order in which they are made; nil before they are known.
	Order []string `json:"order,omitempty"`
	// Gate is the node's own hook point, stage_start or stage_end, that the run is at or passed last.
	Gate Gate `json:"gate,omitzero"`
	// Failure is why a check at its end has failed the node; nil otherwise.
	Failure *event.FailureData `json:"failure,omitempty"`
	// Restart is set while the node is to be entered anew, as soon as nothing of it is under way.
	Restart *Restart `json:"restart,omitempty"`
	// Injected are texts of hooks for the prompts of this visit. The first Carried of them came with the entry,
	// and stay when the node begins anew.
	Injected []event.Ref `json:"injected,omitempty"`
	Carried  int         `json:"carried,omitempty"`
	// StageAttempt counts the stage retries of this visit.
	StageAttempt int `json:"stage_attempt,omitempty"`
	// Artifacts are the newest artifacts of the node by name.
	Artifacts map[string]event.Ref `json:"artifacts,omitempty"`
	// Feedback is why the node was entered again, for all prompts of this visit, and Cause the bare reason where there
	// is none; FailedSteps are the steps that are to be made again for it.
	Feedback    *event.Ref `json:"feedback,omitempty"`
	FailedSteps []string   `json:"failed_steps,omitempty"`
	Cause       string     `json:"cause,omitempty"`
	// Granted: a person allowed the edge that the node leaves by once more than its limit.
	Granted bool `json:"granted,omitempty"`
}

// NodeStatus is the condition of a node.
type NodeStatus string

// The conditions of a node that was entered.
const (
	NodeRunning  NodeStatus = "running"
	NodeComplete NodeStatus = "complete"
	NodeFailed   NodeStatus = "failed"
	NodeSkipped  NodeStatus = "skipped"
)

// Branch is one provider of a parallel block: the stage it is at and that stage's loop.
type Branch struct {
	Stage     int        `json:"stage"` // its position in the block; that of the last one when all are done
	Status    NodeStatus `json:"status"`
	StartedAt time.Time  `json:"started_at"`
	Loop      Loop       `json:"loop"`
	// Gate is the provider's own hook point, Injected are texts of hooks for its prompts in the block.
	Gate     Gate        `json:"gate,omitzero"`
	Injected []event.Ref `json:"injected,omitempty"`
	// Done are the stages that ended well, in order.
	Done []BranchStage `json:"done,omitempty"`
}

// BranchStage is how a provider's stage ended.
type BranchStage struct {
	Iterations int    `json:"iterations"`
	Reason     string `json:"reason,omitempty"`
}

// EndedBy is the Bash engine's word for how the stage ended, given the type of its termination: "fixed",
// "plateau" for a judgment, "max_iterations", or the type of another strategy.
func (b BranchStage) EndedBy(strategy string) string {
	switch {
	case b.Reason == "max_iterations":
		return b.Reason
	case strategy == "judgment":
		return "plateau"
	default:
		return strategy
	}
}

// Step is one item of a node's steps.
type Step struct {
	Status StepStatus `json:"status"`
	event.StepData
	Loop Loop `json:"loop,omitzero"` // while it is in work, and of one that failed
	// Last is the number of its last iteration, so that no stage retry uses one again.
	Last   int    `json:"last,omitempty"`
	Reason string `json:"reason,omitempty"` // why it failed, is blocked or was skipped
	// Output is what its agent said last, in whichever visit.
	Output *event.Ref `json:"output,omitempty"`
}

// StepStatus is the condition of a step.
type StepStatus string

// The conditions of steps.
const (
	StepPending  StepStatus = "pending"
	StepRunning  StepStatus = "running"
	StepComplete StepStatus = "complete"
	StepFailed   StepStatus = "failed"
	StepBlocked  StepStatus = "blocked" // a step that it depends on failed
	StepSkipped  StepStatus = "skipped" // a person said to go on without it
)

// Done reports whether what depends on the step may be made.
func (s StepStatus) Done() bool { return s == StepComplete || s == StepSkipped }

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
	Spared int `json:"spared,omitempty"`
	// IterationStartedAt is nil while no iteration is unfinished (REQUIREMENTS U049).
	IterationStartedAt *time.Time `json:"iteration_started_at,omitempty"`
	// Gate is the iteration's hook point that the loop is at or passed last. Injected are texts of hooks for
	// the prompts of the iteration in work, or of the next one.
	Gate     Gate        `json:"gate,omitzero"`
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
	// Facts is the file with all that it says.
	Facts *event.Ref `json:"facts,omitempty"`
	// Failure is why nothing could be measured.
	Failure *event.FailureData `json:"failure,omitempty"`
}

// Amount is money and tokens. A member is nil where it is not limited.
type Amount struct {
	USD    *float64 `json:"usd,omitempty"`
	Tokens *int64   `json:"tokens,omitempty"`
}

// Allowance is what the call that the loop makes may consume: the least that is set aside for it in any scope; nil where
// no ceiling holds.
func (l Loop) Allowance() *Amount {
	var a Amount
	for _, part := range l.Reserved {
		a.USD, a.Tokens = least(a.USD, part.USD), least(a.Tokens, part.Tokens)
	}
	if a == (Amount{}) {
		return nil
	}
	return &a
}

// least is the smaller one of two limits, of which nil is none.
func least[N int64 | float64](a, b *N) *N {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// Charge is what attempts in a scope have consumed. Those that did not say count as what was reserved for them.
type Charge struct {
	USD        float64 `json:"usd,omitempty"`
	Tokens     int64   `json:"tokens,omitempty"`
	Attempts   int     `json:"attempts"`              // that ended
	UnknownUSD int     `json:"unknown_usd,omitempty"` // attempts that did not say what they cost
	// UnknownTokens are attempts that did not say how many tokens they took.
	UnknownTokens int     `json:"unknown_tokens,omitempty"`
	DearestUSD    float64 `json:"dearest_usd,omitempty"`
	DearestTokens int64   `json:"dearest_tokens,omitempty"`
	// Renewed is how often a person allowed the ceiling once more.
	Renewed int `json:"renewed,omitempty"`
	// WarnedAt is the number of the event with which warn_usd was passed, 0 before.
	WarnedAt int64 `json:"warned_at,omitempty"`
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

func (n Node) clone() Node {
	n.Loop = n.Loop.clone()
	n.Branches = cloneMap(n.Branches, func(b Branch) Branch {
		b.Loop, b.Done, b.Injected = b.Loop.clone(), slices.Clone(b.Done), slices.Clone(b.Injected)
		return b
	})
	n.Steps = cloneMap(n.Steps, func(s Step) Step { s.Loop = s.Loop.clone(); return s })
	n.Injected = slices.Clone(n.Injected)
	n.Artifacts = cloneMap(n.Artifacts, func(r event.Ref) event.Ref { return r })
	return n
}

func (l Loop) clone() Loop {
	l.Decisions = slices.Clone(l.Decisions)
	l.Calls, l.Injected = slices.Clone(l.Calls), slices.Clone(l.Injected)
	l.Measured, l.Reserved = slices.Clone(l.Measured), maps.Clone(l.Reserved)
	return l
}
