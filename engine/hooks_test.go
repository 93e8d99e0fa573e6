package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// essayRun returns the options of a pipeline whose prompts contain their context.
func essayRun(runs int) engine.RunOptions {
	return engine.RunOptions{Text: fmt.Sprintf(`
name: essay
nodes:
  - {id: write, prompt: "write ${CONTEXT}", runs: %d}
  - {id: edit, prompt: "edit ${CONTEXT}", runs: 1}
`, runs)}
}

func prompts(s *enginetest.Session) []string {
	var all []string
	for _, req := range s.Requests() {
		all = append(all, strings.TrimSpace(req.Prompt))
	}
	return all
}

// U240, U242: hooks are called in the order of registration, at their points, with the matching context.
func TestCallbacksAreCalledInOrder(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essayRun(2), Replies: []enginetest.Reply{{Summary: "done so"}}})
	var calls []string
	note := func(name string) func(*engine.HookContext) engine.HookResult {
		return func(h *engine.HookContext) engine.HookResult {
			result := ""
			if h.Result != nil {
				result = h.Result.Summary
			}
			calls = append(calls, fmt.Sprint(name, " ", h.Point, " ", h.Stage, " ", h.Iteration, " ", h.Status, " ", result, " ", h.State.Session))
			return engine.HookResult{}
		}
	}
	s.Engine.OnStageEnd(note("a"))
	s.Engine.OnSessionStart(note("b"))
	s.Engine.OnStageEnd(note("c"))
	s.Engine.OnIterationEnd(note("d"))
	s.Engine.OnSessionEnd(note("e"))
	s.Engine.OnStageStart(note("f"))
	s.Engine.OnIterationStart(note("g"))
	s.Run()
	want := []string{
		"b session_start  0 running  test",
		"f stage_start write 0 running  test", "g iteration_start write 1 running  test", "d iteration_end write 1 success done so test",
		"g iteration_start write 2 running  test", "d iteration_end write 2 success done so test",
		"a stage_end write 2 success done so test", "c stage_end write 2 success done so test",
		"f stage_start edit 0 running  test", "g iteration_start edit 1 running  test", "d iteration_end edit 1 success done so test",
		"a stage_end edit 1 success done so test", "c stage_end edit 1 success done so test",
		"e session_end  0 completed  test",
	}
	testkit.Equal(t, want, calls)
}

// U241: a hook at a stage's end or between its iterations restarts the stage at iteration 1, with a text in prompts.
func TestCallbackRestartsStage(t *testing.T) {
	for iterations, want := range map[int][]string{
		2: {"write", "write", "write again", "write again", "edit"},
		3: {"write", "write", "write again", "write again", "write again", "edit"},
	} {
		s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essayRun(iterations)})
		restart := func(h *engine.HookContext) engine.HookResult {
			if h.Iteration == 2 && h.State.Nodes["0"].Visit == 1 && h.Stage == "write" {
				return engine.RestartStage("again")
			}
			return engine.Continue()
		}
		if iterations == 2 {
			s.Engine.OnStageEnd(restart)
		} else {
			s.Engine.OnIterationEnd(restart)
		}
		s.Run()
		enginetest.AssertStateStatus(t, s, state.Completed)
		testkit.Equal(t, want, prompts(s))
	}
}

// U241: a hook ends the run for good.
func TestCallbackAborts(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essayRun(3)})
	s.Engine.OnIterationEnd(func(*engine.HookContext) engine.HookResult { return engine.Abort("enough") })
	if r := s.Run(); r.Status != state.Aborted || r.Reason != "enough" || r.ResumeCommand != "" {
		t.Errorf("%+v", r)
	}
	enginetest.AssertIterationCount(t, s, 1)
}

// U242: the panic of a hook is journaled, and the run continues or does as WithHookErrors says.
func TestPanickingCallback(t *testing.T) {
	for _, tt := range []struct {
		option engine.Option
		want   state.Status
	}{
		{engine.WithHookErrors(""), state.Completed},
		{engine.WithHookErrors(plan.FallbackPause), state.Paused},
		{engine.WithHookErrors(plan.FallbackAbort), state.Aborted},
	} {
		s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essayRun(1), Options: []engine.Option{tt.option}})
		s.Engine.OnStageStart(func(*engine.HookContext) engine.HookResult { panic("oh") })
		s.Run()
		enginetest.AssertStateStatus(t, s, tt.want)
		i := slices.IndexFunc(s.Events(), func(e event.Event) bool { return e.Type == event.HookComplete })
		d, err := event.Decode[event.HookCompleteData](s.Events()[i])
		if err != nil || d.Failure == nil || !strings.Contains(d.Failure.Message, "the callback panicked: oh") || !strings.Contains(d.Failure.Detail, "hooks_test.go") {
			t.Errorf("%+v, %v", d, err)
		}
	}
}

// U051: OnResume hooks get the text in turn; they can pause or abort the session.
func TestOnResume(t *testing.T) {
	for _, tt := range []struct {
		answer engine.HookResult
		want   state.Status
		last   string
	}{
		{engine.Continue(), state.Completed, "edit hello"},
		{engine.ModifyContext("hello twice"), state.Completed, "edit hello twice"},
		{engine.Pause("not yet"), state.Paused, "write"},
		{engine.Abort("no more"), state.Aborted, "write"},
	} {
		s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essayRun(1)})
		s.Engine.OnStageEnd(func(h *engine.HookContext) engine.HookResult {
			if h.Stage == "write" {
				return engine.Pause("look")
			}
			return engine.Continue()
		})
		s.Engine.OnResume(func(_ *engine.HookContext, input string) engine.HookResult {
			if input != "hello" {
				t.Errorf("input is %q", input)
			}
			return tt.answer
		})
		s.Engine.OnResume(func(_ *engine.HookContext, input string) engine.HookResult {
			if tt.answer.Action == engine.ActionModifyContext && input != "hello twice" {
				t.Errorf("the second gets %q", input)
			}
			return engine.HookResult{}
		})
		s.Run()
		if r := s.Resume("hello"); r.Status != tt.want {
			t.Errorf("after %q: %+v", tt.answer.Action, r)
		}
		if got := prompts(s); got[len(got)-1] != tt.last {
			t.Errorf("after %q: %q", tt.answer.Action, got)
		}
	}
}

// U050: a pause in a parallel block lets each provider finish its iteration.
func TestPauseInABlock(t *testing.T) {
	paused := make(chan struct{})
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Run: engine.RunOptions{Text: `
name: both
nodes:
  - id: block
    parallel:
      providers: [left, right]
      stages: [{id: draft, prompt: draft, termination: {type: fixed, max: 2}}]
`, Observe: func(u engine.Update) {
			if u.Event != nil && u.Event.Type == event.HookComplete && bytes.Contains(u.Event.Data, []byte(`"answer":"pause"`)) {
				close(paused)
			}
		}},
		Providers: []string{"left", "right"},
		Replies: []enginetest.Reply{{Provider: "right", Iteration: 1, Work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
			select { // working while the other provider's hook pauses the session
			case <-paused:
			case <-ctx.Done():
			}
			return nil
		}}},
	})
	s.Engine.OnIterationEnd(func(h *engine.HookContext) engine.HookResult {
		if h.Provider == "left" && h.Iteration == 1 {
			return engine.Pause("check the left one")
		}
		return engine.Continue()
	})
	if r := s.Run(); r.Status != state.Paused || r.PauseKind != state.PauseHook {
		t.Errorf("%+v", r)
	}
	enginetest.AssertIterationCount(t, s, 2)
	s.Resume("")
	enginetest.AssertStateStatus(t, s, state.Completed)
	enginetest.AssertIterationCount(t, s, 4)
}

// U241: a restart in a parallel block restarts the block after its providers have finished their iterations.
func TestRestartInABlock(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Run: engine.RunOptions{Text: `
name: both
nodes:
  - id: block
    parallel:
      providers: [left, right]
      stages: [{id: draft, prompt: "draft ${CONTEXT}", termination: {type: fixed, max: 1}}]
`},
		Providers: []string{"left", "right"},
	})
	s.Engine.OnParallelProviderEnd(func(h *engine.HookContext) engine.HookResult {
		if h.Provider == "left" && h.State.Nodes["0"].Visit == 1 {
			return engine.RestartStage("once more")
		}
		return engine.Continue()
	})
	s.Run()
	enginetest.AssertStateStatus(t, s, state.Completed)
	got := prompts(s)
	if n := len(got); n < 3 || got[n-1] != "draft once more" || got[n-2] != "draft once more" {
		t.Errorf("%q", got)
	}
}
