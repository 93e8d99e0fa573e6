package schedule_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func (h *history) pause() {
	h.t.Helper()
	h.add(event.New(event.Control, nil, "", event.ControlData{ID: "p", Action: "pause", Kind: "signal"}))
}

func (h *history) resume() {
	h.t.Helper()
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
}

// D3: a plugin that reports a stop without a request fails like any other; repeating it at once would never end.
func TestStopReportedByAPlugin(t *testing.T) {
	for _, kind := range []string{"signal_interrupt", "aborted"} {
		t.Run("attempt "+kind, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{}))
			h.fail(h.commit(), event.FailureData{ErrorType: kind, Message: "stopped"})
			h.commit()
			require(t, h.state.Status == state.Failed && h.state.Failure.ErrorType == kind, h.state)
		})
		t.Run("answer "+kind, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{}))
			h.iterate("")
			h.ask()
			q := h.commit()
			h.add(event.New(event.StrategyAnswer, q.Location.Cursor(), q.Key, event.StrategyAnswerData{Error: kind}))
			c := h.nextCommand()
			require(t, c.Kind == schedule.Strategy && c.Round == 1, c)
		})
	}
}

// ask makes the strategy ask instead of deciding.
func (h *history) ask() {
	h.t.Helper()
	c := h.nextCommand()
	h.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{
		Strategy: "asking", Action: "ask", Question: &event.QuestionData{Provider: "mock"},
	}))
}

// Work that a stop interrupts has not failed: it is requested again on resume.
func TestStopInterrupts(t *testing.T) {
	t.Run("by a signal", func(t *testing.T) {
		testStopCutsOff(t, event.FailureData{ErrorType: "signal_interrupt", Message: "stopped"})
	})
	t.Run("by the machine", func(t *testing.T) {
		testStopCutsOff(t, event.FailureData{ErrorType: "state_corrupt", Message: "no space left on device", System: true})
	})
}

func testStopCutsOff(t *testing.T, stopped event.FailureData) {
	tests := []struct {
		name string
		cut  func(h *history)
		want schedule.Kind // due after the resume
	}{
		{"an attempt", func(h *history) {
			c := h.commit()
			h.pause()
			h.fail(c, stopped)
		}, schedule.Attempt},
		{"a decision", func(h *history) {
			h.iterate("")
			c := h.nextCommand()
			h.pause()
			h.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Strategy: "slow", Action: "error", Failure: &stopped}))
		}, schedule.Strategy},
		{"a question", func(h *history) {
			h.iterate("")
			h.ask()
			c := h.commit()
			h.pause()
			h.add(event.New(event.StrategyAnswer, c.Location.Cursor(), c.Key, event.StrategyAnswerData{Error: stopped.ErrorType, System: stopped.System}))
		}, schedule.Question},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{}))
			tt.cut(h)
			h.commit()
			require(t, h.state.Status == state.Paused && h.loop().Failure == nil, h.state)
			h.resume()
			c := h.commit()
			require(t, c.Kind == tt.want, c)
		})
	}
}

// Whatever ended the attempt, if a call is open that must not run twice, the user is asked before the
// repeat.
func TestOpenCallAsksTheUser(t *testing.T) {
	tests := []struct {
		name    string
		failure event.FailureData
		stop    bool
	}{
		{"a transient failure", event.FailureData{ErrorType: "provider_crashed", Retryable: true}, false},
		{"another call's crash", event.FailureData{ErrorType: "provider_crashed", Retryable: true, Collateral: true}, false},
		{"a stop", event.FailureData{ErrorType: "signal_interrupt"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{}))
			c := h.commit()
			call := event.ToolCallData{CallID: "1", Tool: "pay", Effect: "once", Verdict: "run"}
			h.add(event.New(event.ToolCall, c.Location.Cursor(), c.Key, call))
			if tt.stop {
				h.pause()
			}
			h.fail(c, tt.failure)
			h.commit()
			if tt.stop { // the pause had another reason; the question follows after the resume
				h.resume()
				h.commit()
			}
			require(t, h.state.PauseKind == state.PauseEscalation, h.state)
			h.resume()
			c = h.commit()
			require(t, c.Kind == schedule.Attempt && c.Attempt == 1, c)
			compare(t, []state.Call{{Call: call}}, h.loop().Calls)
		})
	}
}

// The sum includes the usage of failed attempts and questions.
func TestTotalUsage(t *testing.T) {
	tokens := func(n int64) *event.Usage { return &event.Usage{OutputTokens: &n} }
	h := newHistory(t, stages(plan.Node{}))
	h.fail(h.commit(), event.FailureData{ErrorType: "provider_crashed", Retryable: true, Usage: tokens(1)})
	h.fireTimer()
	c := h.commit()
	h.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Usage: tokens(10)}))
	h.ask()
	q := h.commit()
	h.add(event.New(event.StrategyAnswer, q.Location.Cursor(), q.Key, event.StrategyAnswerData{Usage: tokens(100)}))
	compare(t, *tokens(111), h.state.Usage)
}
