package schedule

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Version is the version of the scheduler's rules; a session keeps the one it was started with.
const Version = 1

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
	Settle        Kind = "settle" // settle artifact and outcome: ends in iteration_complete, or error for an invalid artifact; for a node that wraps a pipeline in artifact_written or error
	PlanSteps     Kind = "plan"   // read the steps of a node: ends in steps_planned
	Inspect       Kind = "input"  // inspect the input artifact of a node: ends in input_checked
)

// Command is one action to perform. The runtime commits and applies Event, if there is one, and then starts the
// effect, unless an effect with the same key is in flight. A record with such a key is skipped too, because the
// effect's own end follows.
//
// Commands are JSON and smaller than 10 KB: large data is found through Location.
type Command struct {
	Kind  Kind         `json:"kind"`
	Key   event.Key    `json:"key,omitempty"`
	Event *event.Event `json:"event,omitempty"` // nil for strategy and cancel
	// Cause is why an effect is cancelled, nil if the run is being aborted.
	Cause    *event.FailureData `json:"cause,omitempty"`
	Location event.Location     `json:"place"`
	Attempt  int                `json:"attempt,omitempty"` // for attempt: its number, from 1
	Round    int                `json:"round,omitempty"`   // for strategy and question: questions answered so far
	Check    string             `json:"check,omitempty"`   // for check: its id
	// Hook is the number of the hook to call, at Point; see [FindHook] and [CallbackNumber].
	Hook  int            `json:"hook,omitempty"`
	Point plan.HookPoint `json:"point,omitempty"`
}

// Decide returns the commands that are due in s, in a stable order. It returns the same commands until an event that
// answers them is applied. It returns none while the run waits for effects in flight, a timer or the user, or when it
// has ended.
func Decide(p *plan.Plan, s state.State) []Command {
	return stampRun(s.Run, decide(p, s))
}

func decide(p *plan.Plan, s state.State) []Command {
	switch {
	case s.Epoch == 0 || s.RunID == "":
		return nil
	case s.Stop != nil:
		return decideStop(s)
	case s.Status != state.Running:
		return nil
	}
	if cmds, passed := decideSessionStart(p, s); !passed {
		return cmds
	}
	if s.At == "" {
		return decideEnd(p, s)
	}
	n := p.Find(s.At)
	if n == nil {
		return record(planMismatchEvent(s))
	}
	if due := armGuardrails(p, s); due != nil {
		return due
	}
	return enforceGuardrails(p, s, decideNode(p, s, n))
}

func record(e event.Event) []Command {
	return []Command{{Kind: Record, Key: e.Key, Event: &e}}
}
