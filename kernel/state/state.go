package state

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Status is the status of a session (REQUIREMENTS U041).
type Status string

// The six statuses. Completed and aborted are final, but a resume may enter a node of a completed session again.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Paused    Status = "paused"
	Completed Status = "completed"
	Failed    Status = "failed"
	Aborted   Status = "aborted"
)

// Final reports whether the run is over. Only late events of the run, or a resume that enters a node again, can follow.
func (s Status) Final() bool { return s == Completed || s == Aborted }

// CanBecome reports whether the table of transitions allows going from s to next.
func (s Status) CanBecome(next Status) bool {
	switch s {
	case Pending:
		return next == Running
	case Running:
		return next == Completed || next == Failed || next == Paused || next == Aborted
	case Paused, Failed:
		return next == Running || next == Aborted
	default:
		return false
	}
}

// PauseKind is the reason of a pause.
type PauseKind string

// The kinds of pauses.
const (
	PauseSignal     PauseKind = "signal"
	PauseUser       PauseKind = "user"
	PauseHook       PauseKind = "hook"
	PauseApproval   PauseKind = "approval"
	PauseEscalation PauseKind = "escalation"
	PauseError      PauseKind = "error"    // the kernel cannot continue; the work itself has not failed
	PauseTampered   PauseKind = "tampered" // a recorded file was changed
)

// State is one session between two events. It is a value: progress.Apply returns a new state and leaves the old state
// unchanged.
type State struct {
	Identity
	Seq   int64 `json:"event_seq"` // of the last event applied
	Epoch int   `json:"epoch"`     // of the kernel that holds the session, 0 before the first
	Lifecycle
	RunCounts
	Position
	Limits
	Carry
	OpenQuestions
	// Callbacks are the points at which the program that holds the session is called, in order.
	Callbacks []string `json:"callbacks,omitempty"`
	// Hooks has the texts for all prompts of the session; NextInjected are for the stage or block that is entered next.
	Hooks
	NextInjected []event.Ref `json:"next_injected,omitempty"`
	UserInput
	// Failure is the error record of a failed run.
	Failure *event.FailureData `json:"failure,omitempty"`
	// Usage sums the reported usage of all attempts, including failed attempts, and of all questions of strategies.
	Usage event.Usage `json:"usage"`
}

// Identity identifies the session and its plan, with the settings of its start. It never changes.
type Identity struct {
	Session          string `json:"session"`
	RunID            string `json:"run_id"`
	Mode             string `json:"mode"` // loop or pipeline
	Pipeline         string `json:"pipeline,omitempty"`
	SchedulerVersion int    `json:"scheduler_version"`
	PlanSHA256       string `json:"plan_sha256"`
	SkipDelays       bool   `json:"skip_delays,omitempty"`
	// Providers are the resolved providers of parallel blocks, by name as written. They never change.
	Providers map[string]event.Provider `json:"providers,omitempty"`
}

// Lifecycle is the status of the session, with its reasons and times.
type Lifecycle struct {
	Status      Status     `json:"status"`
	PauseKind   PauseKind  `json:"pause_kind,omitempty"`
	PauseReason string     `json:"pause_reason,omitempty"`
	PauseCode   string     `json:"pause_code,omitempty"` // of an escalation
	Reason      string     `json:"completion_reason,omitempty"`
	StartedAt   time.Time  `json:"started_at"`
	EndedAt     *time.Time `json:"ended_at,omitempty"` // completed, failed, aborted or paused
	ResumedAt   *time.Time `json:"resumed_at,omitempty"`
	// AliveAt is the latest time at which the run was working. It is zero without guardrails.
	AliveAt time.Time `json:"alive_at,omitzero"`
}

// RunCounts counts the runs of the whole pipeline, and the runs and visits of nodes before the current ones.
type RunCounts struct {
	// Run is the number of the current run of the whole pipeline, from 1, and Runs their total. Both are 0 in a
	// session with a single run.
	Run  int `json:"run,omitempty"`
	Runs int `json:"runs,omitempty"`
	// PriorRuns are the run counts of nested pipelines in earlier runs of the whole pipeline, by node path. Their
	// numbers continue.
	PriorRuns map[string]int `json:"prior_runs,omitempty"`
	// PriorVisits are the visit counts of nodes of a doubly nested pipeline before it was entered again, by path. All
	// its visits share one run, so the numbers continue.
	PriorVisits map[string]int `json:"prior_visits,omitempty"`
}

// Position is the place of the run in its pipeline, with the nodes and artifacts it has so far.
type Position struct {
	// At is the path of the node the run is at, "" when the run is past the last node.
	At string `json:"at"`
	// Nodes holds the nodes entered so far by path.
	Nodes map[string]Node `json:"nodes"`
	// Input is the artifact that the run started with, nil for none. SuppliedArtifacts are artifacts of nodes, by path,
	// that were supplied instead of produced. See [State.NodeArtifact].
	Input             *event.Ref           `json:"input,omitempty"`
	SuppliedArtifacts map[string]event.Ref `json:"given,omitempty"`
	// ExitedAfter is the id of the node at which the pipeline ended early, "" otherwise.
	ExitedAfter string `json:"exited_after,omitempty"`
}

// Limits are the timers, transitions and charges that count against limits of the plan.
type Limits struct {
	// Timers are the armed timers by key.
	Timers map[event.Key]Timer `json:"timers,omitempty"`
	// Cycles counts the transitions over back edges by edge name ("verify:fail->execute").
	Cycles map[string]Cycle `json:"cycles,omitempty"`
	// Returns counts transitions over all back edges, independent of Cycles.
	Returns int `json:"returns,omitempty"`
	// Charges are the consumption in each scope that has a ceiling.
	Charges map[string]Charge `json:"charges,omitempty"`
}

// Carry is the feedback for the node that is entered next; see [Entry].
type Carry struct {
	// NextFeedback, NextFailedSteps, NextReason and NextFrom are for the node that is entered next; see
	// [Entry.Feedback].
	NextFeedback    *event.Ref `json:"next_feedback,omitempty"`
	NextFailedSteps []string   `json:"next_failed_steps,omitempty"`
	NextReason      string     `json:"next_reason,omitempty"`
	NextFrom        string     `json:"next_from,omitempty"`
}

// OpenQuestions are the questions to the user.
type OpenQuestions struct {
	// Questions are the questions to the user that the run waits for, by id. Waits is true if the run keeps running
	// meanwhile.
	Questions map[string]Question `json:"questions,omitempty"`
	Waits     bool                `json:"waits,omitempty"`
	// Confined means that an agent of the run is in a sandbox. Files in the session's directory then answer no question.
	Confined bool `json:"confined,omitempty"`
}

// UserInput holds approvals, requests and texts of the user and of hooks.
type UserInput struct {
	// ApprovedStages are the ids of the nodes whose end the user approved, in order.
	ApprovedStages []string `json:"approved_stages,omitempty"`
	// Escalation is the name of the latest escalation; see [Question.Escalation].
	Escalation string `json:"escalation,omitempty"`
	// Stop is the request to end or pause the run, nil if there is none.
	Stop *Stop `json:"stop,omitempty"`
	// Context is the user's text for the next prompts; see [Loop.ContextConsumed].
	Context string `json:"context,omitempty"`
	// Handled are the ids of the last control messages applied, so that none is applied twice.
	Handled []string `json:"handled,omitempty"`
}

// Cycle counts the transitions over one back edge.
type Cycle struct {
	Count   int      `json:"count"`
	Limit   int      `json:"limit"`
	Reasons []string `json:"reasons,omitempty"` // of the last [MaxReasons] returns, oldest first
	// PassHash is the digest of the last pass over the cycle, and IdenticalPasses the number of consecutive passes with
	// that digest.
	PassHash        string `json:"print,omitempty"`
	IdenticalPasses int    `json:"same,omitempty"`
}

// MaxReasons is the number of reasons that a cycle keeps.
const MaxReasons = 10

// Stop is a request to end or pause the run at the next boundary.
type Stop struct {
	Action string    `json:"action"` // pause or abort
	Kind   PauseKind `json:"kind,omitempty"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	// Hook is true if a hook or a rejected question caused the stop. Such a stop survives a restart of the kernel,
	// because its cause does not occur again.
	Hook bool `json:"hook,omitempty"`
}

// Clone returns a copy for an event to change. It shares with s only data that events never change in place. Nodes
// that are complete and not current are shared too, which keeps long pipelines fast.
func (s State) Clone() State {
	nodes := maps.Clone(s.Nodes)
	for path, n := range nodes {
		if n.Status != NodeComplete || path == s.At {
			nodes[path] = n.clone()
		}
	}
	s.Nodes = nodes
	s.Timers, s.PriorRuns, s.PriorVisits = maps.Clone(s.Timers), maps.Clone(s.PriorRuns), maps.Clone(s.PriorVisits)
	s.Cycles = cloneMap(s.Cycles, func(c Cycle) Cycle { c.Reasons = slices.Clone(c.Reasons); return c })
	s.Questions, s.Charges = maps.Clone(s.Questions), maps.Clone(s.Charges)
	s.Handled, s.ApprovedStages = slices.Clone(s.Handled), slices.Clone(s.ApprovedStages)
	s.Injected, s.NextInjected = slices.Clone(s.Injected), slices.Clone(s.NextInjected)
	return s
}

// LoopAt returns the iteration loop at a location: of the node, of one of its steps, or of a provider in a parallel
// block. It returns the zero loop if nothing has begun there.
func (s State) LoopAt(loc event.Location) Loop {
	n := s.Nodes[loc.Outer()]
	switch {
	case loc.Branch != "":
		return n.Branches[loc.Branch].Loop
	case loc.Step != "":
		return n.Steps[loc.Step].Loop
	default:
		return n.Loop
	}
}

// Parse reads a state from JSON, as in the event session_imported.
func Parse(data []byte) (State, error) {
	var s State
	err := json.Unmarshal(data, &s)
	return s, err
}

// NodeArtifact returns the latest artifact of the node at path: its own, else the artifact supplied for that node.
func (s State) NodeArtifact(path string) (event.Ref, bool) {
	if ref, made := s.Nodes[path].Artifacts[event.Artifact]; made {
		return ref, true
	}
	ref, provided := s.SuppliedArtifacts[path]
	return ref, provided
}

// checkRounds separates the keys of checks that are repeated in a stage retry before an iteration has begun.
const checkRounds = 1000

// Timer is armed until its event arrives. The timer of a guardrail stays armed until the guarded work is over.
type Timer struct {
	Purpose string    `json:"purpose"`
	Due     time.Time `json:"due"` // postponed for a guardrail when a stopped run resumes
	// Reached is the time at which a guardrail's timer fired, nil before.
	Reached *time.Time `json:"reached,omitempty"`
}

// PurposeGuardrail is the purpose of a timer that bounds the running time of the run, a node, an embedded pipeline, or
// a provider's stage.
const PurposeGuardrail = "guardrail"

// PurposeEscalation is the purpose of a timer for an escalation's deadline. It has the key of the question and the
// same lifetime.
const PurposeEscalation = "escalation"

// PurposeBackoff is the purpose of a timer before a retry.
const PurposeBackoff = "backoff"
