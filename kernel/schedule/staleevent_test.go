package schedule_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// U048: an event with unreadable data is applied completely if its data does not matter, or refused without any
// change, at every point of every run.
func TestUnreadableDataIsAtomic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
		for i, e := range s.journal[1:] {
			before, after := s.states[i], s.states[i+1]
			e.Data = json.RawMessage(`["nonsense"]`)
			got, err := progress.Apply(s.plan, before, e)
			want := after
			if err != nil {
				want = before
			}
			if diff := cmp.Diff(asJSON(want), asJSON(got)); diff != "" {
				t.Fatalf("%s, error %v:\n%s", e.Type, err, diff)
			}
		}
	})
}

// DESIGN 6, 7: gated tool calls are kept for a resume after a crash: open calls, and finished ones up to the next
// checkpoint. Observed calls are not.
func TestToolCallsAreKept(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	c := h.commit()
	add := func(typ event.Type, data any) { h.add(event.New(typ, c.Location.Cursor(), c.Key, data)) }
	call := func(id, effect string) {
		add(event.ToolCall, event.ToolCallData{CallID: id, Tool: "pay", Effect: effect, Verdict: "run"})
	}
	kept := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range h.loop().Calls {
			ended := ""
			if c.Result != nil {
				ended = " " + c.Result.Status
			}
			got = append(got, c.Call.CallID+ended)
		}
		compare(t, want, got)
	}
	call("1", "once")
	add(event.ToolCall, event.ToolCallData{CallID: "seen", Tool: "read", Observed: true})
	add(event.ToolResult, event.ToolResultData{CallID: "seen", Status: "ok", Observed: true})
	kept("1")
	add(event.ToolResult, event.ToolResultData{CallID: "1", Status: "ok"})
	call("2", "idempotent")
	kept("1 ok", "2")
	call("2", "idempotent") // requested again
	kept("1 ok", "2")
	add(event.Checkpoint, event.CheckpointData{Turn: 3, Blob: event.Ref{Path: "checkpoint-3"}})
	kept("2")
	if l := h.loop(); l.Checkpoint == nil || l.Checkpoint.Turn != 3 {
		t.Errorf("checkpoint %+v", l.Checkpoint)
	}
	h.startKernel() // a crash: the open call may be repeated, so no question is asked
	if next := h.commit(); next.Kind != schedule.Attempt {
		t.Errorf("due after the crash: %s", asJSON(next))
	}
	kept("2")

	late := event.New(event.ToolCall, c.Location.Cursor(), "attempt:0/v9/r1/-/-/i1#1", event.ToolCallData{CallID: "3"})
	if _, err := progress.Apply(h.plan, h.state, late); !isInvalidTransition(err) {
		t.Errorf("a call of another attempt: %v", err)
	}
}

// DESIGN 5: an event at the wrong time is refused with a reason: an answered pause, an event of an inactive node, an
// end of a run that has ended.
func TestInvalidTransitions(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	c := h.commit()
	cursor := c.Location.Cursor()
	for name, e := range map[string]event.Event{
		"a node that is at work":       event.New(event.NodeStart, cursor, "", nil),
		"another node's start":         event.New(event.NodeStart, &event.Cursor{NodePath: "7"}, "", nil),
		"another node's end":           event.New(event.NodeComplete, &event.Cursor{NodePath: "7"}, "", event.NodeCompleteData{}),
		"an unknown target":            event.New(event.NodeComplete, cursor, "", event.NodeCompleteData{To: "7", Status: "complete"}),
		"a decision without iteration": event.New(event.Decision, cursor, c.Location.Key(event.KeyDecide, 1), event.DecisionData{Action: "stop"}),
		"a timer that was not set":     event.New(event.TimerFired, nil, "timer:0/v1/r1/-/-/i1#1", nil),
		"an answer to no question":     event.New(event.StrategyAnswer, cursor, c.Location.Key(event.KeyQuestion, 1), event.StrategyAnswerData{}),
		"a failure of another attempt": event.New(event.Error, cursor, c.Location.Key(event.KeyAttempt, 5), event.FailureData{ErrorType: string(failure.ProviderCrashed)}),
	} {
		e.Seq, e.Epoch = h.state.Seq+1, h.state.Epoch
		after, err := progress.Apply(h.plan, h.state, e)
		if !isInvalidTransition(err) || err.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(asJSON(h.state), asJSON(after)); diff != "" {
			t.Errorf("%s changed the state:\n%s", name, diff)
		}
	}
}
