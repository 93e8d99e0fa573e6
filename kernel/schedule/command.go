package schedule

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Kind is the effect of a command after its event is committed.
type Kind string

// The kinds of commands.
const (
	Record   Kind = "record"   // no effect, only the event
	Attempt  Kind = "attempt"  // run one attempt: ends in iteration_complete or error
	Strategy Kind = "strategy" // ask the termination strategy: ends in decision
	Question Kind = "question" // ask a provider the strategy's question: ends in strategy_answer
	// WriteManifest writes a block's manifest: ends in artifact_written.
	WriteManifest Kind = "manifest"
	Cancel        Kind = "cancel" // cancel the effect with the same key
	Hook          Kind = "hook"   // call a hook: ends in hook_complete, hook_timeout, hook_skipped or question_asked
	Check         Kind = "check"  // run a check of the node: ends in check_result
	Settle        Kind = "settle" // settle artifact and outcome: ends in iteration_complete or error; for a node that wraps a pipeline in artifact_written or error
	PlanSteps     Kind = "plan"   // read the steps of a node: ends in steps_planned
	Inspect       Kind = "input"  // inspect the input artifact of a node: ends in input_checked
)

// Command is one action to perform. The runtime commits and applies Event, if there is one, and then starts the
// effect, unless an effect with the same key is in flight. A record with the key of an effect in flight is skipped
// too, because the effect's own end follows.
//
// Commands are JSON and smaller than 10 KB: large data is found through Location.
type Command struct {
	Kind  Kind         `json:"kind"`
	Key   event.Key    `json:"key,omitempty"`
	Event *event.Event `json:"event,omitempty"` // set for record, attempt and question, else nil
	// Cause is the reason why an effect is cancelled, nil if the run is being aborted.
	Cause    *event.FailureData `json:"cause,omitempty"`
	Location event.Location     `json:"place"`
	Attempt  int                `json:"attempt,omitempty"` // for attempt and settle: number of the attempt, from 1
	Round    int                `json:"round,omitempty"`   // for strategy and question: questions answered so far
	Check    string             `json:"check,omitempty"`   // for check: its id
	// Hook is the number of the hook to call, at Point; see [FindHook] and [CallbackNumber].
	Hook  int            `json:"hook,omitempty"`
	Point plan.HookPoint `json:"point,omitempty"`
}

func record(e event.Event) []Command {
	return []Command{{Kind: Record, Key: e.Key, Event: &e}}
}

// awaitAnswer waits for the user's answer: it keeps the run running if the question allows that, else pauses it.
func awaitAnswer(s state.State, cursor *event.Cursor, id string, q state.Question) []Command {
	if s.KeepsRunningFor(q) {
		return nil
	}
	kind := state.PauseApproval
	if q.Kind == event.QuestionEscalation {
		kind = state.PauseEscalation
	}
	return record(event.New(event.SessionPaused, cursor, "", event.SessionPausedData{Kind: string(kind), Reason: q.Text, Question: id, Code: q.Code}))
}

// planMismatchEvent returns the event that pauses a run whose plan lacks the node that the journal is at.
func planMismatchEvent(s state.State) event.Event {
	return event.New(event.SessionPaused, currentCursor(s), "", event.SessionPausedData{
		Kind: string(state.PauseError), Reason: fmt.Sprintf("plan.json has no node %q, which the journal is at", s.At),
	})
}

func currentCursor(s state.State) *event.Cursor {
	if n, ok := s.Nodes[s.At]; ok {
		return n.IterationLocation(s.At).Cursor()
	}
	return &event.Cursor{NodePath: s.At}
}
