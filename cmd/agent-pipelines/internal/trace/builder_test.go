package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// story feeds a builder with one event per second, and collects the ended spans.
type story struct {
	builder *trace.SpanBuilder
	state   state.State
	plan    plan.Plan
	seq     int64
	epoch   int
	ended   []trace.Span
}

func newStory() *story {
	s := &story{
		epoch: 1, plan: plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "work", Kind: plan.KindStage}}},
		state: state.State{Identity: state.Identity{Pipeline: "build", Mode: "pipeline"}, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{Nodes: map[string]state.Node{
			"0": {NodeProgress: state.NodeProgress{Visit: 1, Run: 1}, NodeLoops: state.NodeLoops{Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseAttempt}}}},
		}}},
	}
	s.builder = trace.NewSpanBuilder(func(made trace.Span) { s.ended = append(s.ended, made) })
	return s
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (s *story) add(t event.Type, kind event.KeyKind, iteration, n int, data any) {
	at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: iteration}
	var key event.Key
	if kind != "" {
		key = at.Key(kind, n)
	}
	s.seq++
	e := event.New(t, at.Cursor(), key, data)
	e.Seq, e.Epoch, e.RunID, e.Session, e.Time, e.Attempt = s.seq, s.epoch, "PL-1", "s", begin.Add(time.Duration(s.seq)*time.Second), n
	st := s.state
	s.builder.Apply(e, &st, &s.plan)
}

// text describes the ended spans: a line each, "name [start-end] error < name of the outer span".
func (s *story) text() string {
	names := map[event.SpanID]string{}
	for _, made := range s.ended {
		names[made.ID] = made.Name
	}
	var b strings.Builder
	for _, made := range s.ended {
		fmt.Fprintf(&b, "%s [%d-%d]", made.Name, int(made.Start.Sub(begin).Seconds()), int(made.End.Sub(begin).Seconds()))
		if made.Error != "" {
			b.WriteString(" " + made.Error)
		}
		if made.Parent != (event.SpanID{}) {
			b.WriteString(" < " + names[made.Parent])
		}
		if made.Before != (event.SpanID{}) {
			b.WriteString(", after " + names[made.Before])
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (s *story) start() {
	s.add(event.SessionStart, "", 0, 0, nil)
	s.add(event.NodeStart, "", 0, 0, nil)
	s.add(event.IterationStart, event.KeyAttempt, 1, 1, event.IterationStartData{Provider: "mock"})
}

func (s *story) finish() {
	s.add(event.NodeComplete, "", 0, 0, event.NodeCompleteData{Status: "complete", Outcome: "success", To: "done"})
	s.state.Status = state.Completed
	s.add(event.SessionComplete, "", 0, 0, nil)
}

// U228: a span ends before the span that contains it. The ids are those of the journal.
func TestBuilder(t *testing.T) {
	s := newStory()
	s.start()
	s.add(event.ToolCall, event.KeyAttempt, 1, 1, event.ToolCallData{CallID: "c", Tool: "write", Verdict: "run"})
	s.add(event.Error, event.KeyAttempt, 1, 1, event.FailureData{ErrorType: "provider_crashed"})
	s.add(event.Retry, event.KeyAttempt, 1, 2, event.RetryData{Rung: event.RungAttempt, N: 2})
	s.add(event.IterationComplete, event.KeyAttempt, 1, 2, event.IterationCompleteData{Decision: "continue"})
	s.add(event.HookStart, event.KeyHook, 1, 1, event.HookStartData{Action: "webhook"})
	s.add(event.HookComplete, event.KeyHook, 1, 1, event.HookCompleteData{Answer: "continue"})
	s.add(event.Decision, event.KeyDecide, 1, 1, event.DecisionData{Strategy: "judgment", Action: "stop"})
	s.finish()
	want := `execute_tool write [4-5] provider_crashed < invoke_agent mock
invoke_agent mock [3-5] provider_crashed < attempt
attempt [3-5] provider_crashed < iteration
invoke_agent mock [6-7] < attempt
attempt [6-7] < iteration
hook webhook [8-9] < iteration
decide judgment [9-10] < iteration
iteration [3-10] < node work
node work [2-11] < run build
run build [1-12]
`
	if diff := cmp.Diff(want, s.text()); diff != "" {
		t.Error(diff)
	}
	ids := map[string]event.SpanID{}
	for _, made := range s.ended {
		ids[made.Name] = made.ID
	}
	key := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}.Key(event.KeyAttempt, 2)
	if ids["attempt"] != event.KeySpanID("PL-1", key, 1) || ids["iteration"] != event.KeySpanID("PL-1", key.Parent(), 0) || ids["run build"] != event.KeySpanID("PL-1", "", 0) {
		t.Errorf("ids %v", ids)
	}
}

// Open spans of a killed kernel end with its last event; the spans around them continue. A fenced kernel does not count.
func TestCrash(t *testing.T) {
	s := newStory()
	s.start()
	s.epoch = 2
	s.add(event.KernelStart, "", 0, 0, nil)
	s.epoch = 1
	s.add(event.IterationComplete, event.KeyAttempt, 1, 1, nil)
	s.epoch = 2
	s.add(event.IterationStart, event.KeyAttempt, 1, 1, event.IterationStartData{Provider: "mock"})
	s.add(event.IterationComplete, event.KeyAttempt, 1, 1, nil)
	s.finish()
	want := `invoke_agent mock [3-3] kernel_killed < attempt
attempt [3-3] kernel_killed < iteration
invoke_agent mock [6-7] < attempt
attempt [6-7] < iteration
iteration [3-7] < node work
node work [2-8] < run build
run build [1-9]
`
	if diff := cmp.Diff(want, s.text()); diff != "" {
		t.Error(diff)
	}
}

// Open spans end when a session pauses or ends. Later spans are new and follow them, and no id occurs twice.
func TestPauseEndsSpans(t *testing.T) {
	s := newStory()
	s.start()
	s.state.Status = state.Paused
	s.add(event.SessionPaused, "", 0, 0, nil)
	s.add(event.Notified, "", 0, 0, nil)
	s.epoch = 2
	s.add(event.KernelStart, "", 0, 0, nil)
	s.state.Status = state.Running
	s.add(event.SessionResumed, "", 0, 0, nil)
	s.add(event.IterationStart, event.KeyAttempt, 1, 1, event.IterationStartData{Provider: "mock"})
	s.add(event.IterationComplete, event.KeyAttempt, 1, 1, nil)
	s.finish()
	want := `invoke_agent mock [3-4] interrupted < attempt
attempt [3-4] interrupted < iteration
iteration [3-4] < node work
node work [2-4] < run build
run build [1-4]
invoke_agent mock [8-9] < attempt
attempt [8-9] < iteration
iteration [8-9] < node work, after iteration
node work [8-10] < resume build, after node work
resume build [7-11] < run build, after run build
`
	if diff := cmp.Diff(want, s.text()); diff != "" {
		t.Error(diff)
	}
	seen := map[event.SpanID]bool{}
	for _, made := range s.ended {
		if seen[made.ID] {
			t.Errorf("%s has an id that another one has", made.Name)
		}
		atRest := made.Parent == (event.SpanID{}) || made.Top || made.Error == "" && made.End.Equal(begin.Add(4*time.Second))
		if made.Rested != atRest {
			t.Errorf("%s %v: rested is %v", made.Name, made.End, made.Rested)
		}
		seen[made.ID] = true
	}
}

// A run is named after its pipeline, or after its only stage.
func TestSpanName(t *testing.T) {
	loop := &plan.Plan{Nodes: []plan.Node{{ID: "tick"}}}
	for _, tt := range []struct {
		state state.State
		plan  *plan.Plan
		want  string
	}{
		{state.State{Identity: state.Identity{Pipeline: "build"}}, loop, "build"},
		{state.State{}, loop, "tick"},
		{state.State{}, nil, "stage"},
	} {
		if got := trace.RunName(&tt.state, tt.plan); got != tt.want {
			t.Errorf("%q is not %q", got, tt.want)
		}
	}
}
