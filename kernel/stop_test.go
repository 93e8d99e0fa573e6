package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func controlEvent(action, kind string) event.Event {
	return event.New(event.Control, nil, "", event.ControlData{ID: action, Action: action, Kind: kind})
}

// slowStrategy returns a strategy that decides after the time takes, or fails with the cause of its cancellation.
func slowStrategy(takes time.Duration) func(context.Context, EffectRequest) event.Event {
	return func(ctx context.Context, w EffectRequest) event.Event {
		d := event.DecisionData{Strategy: "slow", Action: "continue"}
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			d.Action = "error"
			d.Failure = &event.FailureData{ErrorType: string(failure.KindOf(context.Cause(ctx))), Message: "cut off"}
		}
		return event.New(event.Decision, w.Command.Location.Cursor(), w.Command.Key, d)
	}
}

// U050, U052, U102: a pause waits for a deciding strategy, a signal waits for 30 s, and an abort does not wait. Nothing
// follows the event that ends or pauses the run.
func TestStopWhileTheStrategyDecides(t *testing.T) {
	tests := []struct {
		name   string
		stop   event.Event
		takes  time.Duration
		want   time.Duration
		status state.Status
		phase  state.Phase
		last   []event.Type
	}{
		{"pause", controlEvent("pause", "user"), time.Hour, time.Hour, state.Paused, state.PhaseDelay, []event.Type{"control", "decision", "session_paused"}},
		{"signal", controlEvent("pause", "signal"), time.Hour, 31 * time.Second, state.Paused, state.PhaseDecide, []event.Type{"control", "decision", "session_paused"}},
		{"abort", controlEvent("abort", ""), time.Hour, time.Second, state.Aborted, state.PhaseDecide, []event.Type{"control", "decision", "session_aborted"}},
	}
	for _, tt := range tests {
		runBubble(t, tt.name, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			control := make(chan event.Event)
			var sending sync.WaitGroup
			sending.Go(func() { time.Sleep(time.Second); control <- tt.stop })
			started := time.Now()
			st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{strategy: slowStrategy(tt.takes)}, Control: control}, startState(t, p, j))
			sending.Wait()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tt.last, j.types()[len(j.types())-len(tt.last):])
			l := st.Nodes["0"].Loop
			require(t, st.Status == tt.status && l.Phase == tt.phase && time.Since(started) == tt.want, st.Status, l.Phase, time.Since(started))
		})
	}
}

// A run with a pending pause or a cancelled context starts no effect.
func TestStopBeforeWorkBegins(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		control []event.Event
	}{
		{"asked for", t.Context(), []event.Event{controlEvent("pause", "signal")}},
		{"cancelled", cancelled, nil},
	} {
		runBubble(t, tt.name, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			control := make(chan event.Event, 1)
			for _, e := range tt.control {
				control <- e
			}
			st, err := Run(tt.ctx, Config{Plan: p, Journal: j, Effects: fakeEffects{}, Control: control}, startState(t, p, j))
			require(t, err == nil && st.Status == state.Paused, st.Status, err)
			compare(t, []event.Type{"session_start", "kernel_start", "control", "session_paused"}, j.types())
		})
	}
}

// Run returns no error for an event that is too long for a line: a record is refused, and an effect fails.
func TestOversizeEvents(t *testing.T) {
	long := strings.Repeat("x", event.MaxLine)
	tests := []struct {
		name  string
		world fakeEffects
		want  string // error_type of the failed node, "" if the run completes
	}{
		{"a report", fakeEffects{attempt: func(ctx context.Context, w EffectRequest) event.Event {
			report := event.New(event.ToolCall, w.Command.Location.Cursor(), w.Command.Key, event.ToolCallData{CallID: long})
			if err := w.Record(ctx, report); !errors.Is(err, event.ErrTooLong) {
				t.Errorf("recorded: %v", err)
			}
			return completeEvent(w)
		}}, ""},
		{"an attempt", fakeEffects{attempt: func(_ context.Context, w EffectRequest) event.Event {
			return failedEvent(w, failure.New(failure.ProviderFailed, "%s", long))
		}}, "internal"},
		{"a decision", fakeEffects{strategy: func(_ context.Context, w EffectRequest) event.Event {
			state, _ := json.Marshal(long)
			return event.New(event.Decision, w.Command.Location.Cursor(), w.Command.Key, event.DecisionData{Action: "stop", State: state})
		}}, "strategy_failed"},
	}
	for _, tt := range tests {
		runBubble(t, tt.name, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			j.fail = func(e event.Event) error { _, err := e.AppendLine(nil); return err }
			st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: tt.world}, startState(t, p, j)))
			if tt.want == "" && st.Status != state.Completed || tt.want != "" && (st.Failure == nil || st.Failure.ErrorType != tt.want) {
				t.Errorf("status %s, failure %+v", st.Status, st.Failure)
			}
		})
	}
}

// askingAttempt is a strategy that asks once before it decides.
func askingAttempt(_ context.Context, w EffectRequest) event.Event {
	d := event.DecisionData{Action: "ask", Question: &event.QuestionData{Provider: "p"}}
	if w.Command.Round > 0 {
		d = event.DecisionData{Action: "stop"}
	}
	return event.New(event.Decision, w.Command.Location.Cursor(), w.Command.Key, d)
}

// reportingAttempt is an agent that reports a tool call before it ends.
func reportingAttempt(ctx context.Context, w EffectRequest) event.Event {
	if err := w.Record(ctx, event.New(event.ToolCall, w.Command.Location.Cursor(), w.Command.Key, event.ToolCallData{CallID: "1"})); err != nil {
		return failedEvent(w, err)
	}
	return completeEvent(w)
}

// U223: a journal that cannot be written ends the run with its error, at any line, and leaves no effect running.
func TestJournalFailsAtAnyLine(t *testing.T) {
	full := errors.New("disk full")
	for lines := 0; ; lines++ {
		ended := false
		synctest.Test(t, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			st := startState(t, p, j)
			left := lines
			j.fail = func(event.Event) error {
				if left == 0 {
					return full
				}
				left--
				return nil
			}
			control := make(chan event.Event, 1)
			time.AfterFunc(time.Second, func() { control <- controlEvent("pause", "user") }) // in the delay between iterations
			st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: reportingAttempt, strategy: askingAttempt}, Control: control}, st)
			switch {
			case err == nil:
				ended = true
				require(t, st.Status != state.Running, lines, st.Status)
			case !errors.Is(err, full):
				t.Errorf("line %d: %v", lines, err)
			}
		})
		if ended {
			require(t, lines >= 8, lines)
			return
		}
	}
}

// A record after the end of the run is refused at once.
func TestRecordAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		p, j := twoStages(), &journal{}
		st := startState(t, p, j)
		j.fail = func(e event.Event) error {
			if e.Type == event.ToolCall {
				return full
			}
			return nil
		}
		var second error
		_, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: func(ctx context.Context, w EffectRequest) event.Event {
			e := reportingAttempt(ctx, w)
			<-ctx.Done() // the run is over
			second = w.Record(context.WithoutCancel(ctx), event.New(event.ToolCall, w.Command.Location.Cursor(), w.Command.Key, event.ToolCallData{CallID: "2"}))
			return e
		}}}, st)
		require(t, errors.Is(err, full) && failure.KindOf(second) == failure.SignalInterrupt, err, second)
	})
}

// A record for another attempt than the current one is refused, and the run continues.
func TestRecordOfAnotherAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: func(ctx context.Context, w EffectRequest) event.Event {
			other := event.Location{Node: "0", Visit: 9, Run: 1, Iteration: 1}
			if err := w.Record(ctx, event.New(event.ToolCall, other.Cursor(), other.Key(event.KeyAttempt, 1), event.ToolCallData{CallID: "1"})); !errors.Is(err, progress.ErrInvalidTransition) {
				t.Errorf("recorded: %v", err)
			}
			return completeEvent(w)
		}}}, startState(t, p, j))
		require(t, err == nil && st.Status == state.Completed, st.Status, err)
	})
}

// verboseEffects answers questions with more than fits into a line.
type verboseEffects struct{ fakeEffects }

func (verboseEffects) Question(_ context.Context, w EffectRequest) event.Event {
	return event.New(event.StrategyAnswer, w.Command.Location.Cursor(), w.Command.Key, event.StrategyAnswerData{Error: strings.Repeat("x", event.MaxLine)})
}

// An answer that is too long for a line counts as none, and the strategy gets the error.
func TestOversizeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		j.fail = func(e event.Event) error { _, err := e.AppendLine(nil); return err }
		var answer *event.StrategyAnswerData
		w := verboseEffects{fakeEffects{strategy: func(ctx context.Context, w EffectRequest) event.Event {
			if a := w.State.Nodes[w.Node.Path].Loop.Answer; a != nil {
				answer = a
			}
			return askingAttempt(ctx, w)
		}}}
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: w}, startState(t, p, j))
		require(t, err == nil && st.Status == state.Completed && answer != nil && strings.Contains(answer.Error, "too long"), st.Status, err, answer)
	})
}
