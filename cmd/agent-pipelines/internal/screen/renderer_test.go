package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Lines that the Bash engine had keep their wording (BASH-BEHAVIOUR 11).
func TestRenderer(t *testing.T) {
	loop, pipeline := loopStory(), pipelineStory()
	mocked := loopStory()
	mocked.state.SkipDelays = true
	type none struct{}
	for _, tt := range []struct {
		name   string
		update engine.Update
		want   []string
	}{
		{"head of a loop", loop.newUpdate(event.SessionStart, "", 0, none{}), []string{
			"", "  Loop: plan", "  Session: demo", "  Max iterations: 2", "  Provider: mock", "  Completion: fixed", "",
		}},
		{"iteration of a loop", loop.newUpdate(event.IterationStart, "0", 2, none{}), []string{"  Iteration 2 of 2"}},
		{"iteration of a pipeline", pipeline.newUpdate(event.IterationStart, "0", 2, none{}), []string{"  Iteration 2/2..."}},
		{"iteration without a limit", pipeline.newUpdate(event.IterationStart, "1", 3, none{}), []string{"  Iteration 3..."}},
		{"summary", loop.newUpdate(event.IterationComplete, "0", 1, event.IterationCompleteData{Summary: "did\n it\x1b[2J"}), []string{"    did it [2J"}},
		{"delay", loop.newUpdate(event.TimerSet, "0", 1, event.TimerSetData{Purpose: "delay", After: 3 * time.Second}), []string{"Waiting 3 seconds..."}},
		{"no delay", loop.newUpdate(event.Decision, "0", 1, event.DecisionData{Action: "continue"}), []string{"Waiting 0 seconds..."}},
		{"no delay in mock mode", mocked.newUpdate(event.Decision, "0", 1, event.DecisionData{Action: "continue"}), nil},
		{"backoff", loop.newUpdate(event.TimerSet, "0", 1, event.TimerSetData{Purpose: "backoff", After: 2500 * time.Millisecond}), []string{"  Trying again in 2.5s..."}},
		{"error", loop.newUpdate(event.Error, "0", 1, event.FailureData{ErrorType: "provider_crashed", Message: "gone"}), []string{"  ✗ provider_crashed: gone"}},
		{"retry", loop.newUpdate(event.Retry, "0", 1, event.RetryData{N: 2, Max: 3}), []string{"  ↻ attempt 2 of 3"}},
		{"question", loop.newUpdate(event.QuestionAsked, "0", 1, event.QuestionAskedData{ID: "q-1", Text: "Good\nplan?"}), []string{"  ? q-1: Good plan?"}},
		{
			"question asked again", loop.newUpdate(event.QuestionAsked, "0", 1, event.QuestionAskedData{ID: "q-1", Text: "Good?", Changed: true}),
			[]string{"  ? q-1: Good? (asked again: its subject has changed)"},
		},
		{
			"answer", loop.newUpdate(event.QuestionAnswered, "", 0, event.QuestionAnsweredData{ID: "q-1", Answer: "reject", By: "anna", Text: "too\x1b long"}),
			[]string{"  ? q-1: reject by anna: too long"},
		},
		{"no answer", loop.newUpdate(event.QuestionAnswered, "", 0, event.QuestionAnsweredData{ID: "q-1", Answer: "reject", Expired: true}), []string{"  ? q-1: no answer came in time"}},
		{"hook", loop.newUpdate(event.HookStart, "0", 1, event.HookStartData{Action: "webhook", Point: "stage_end"}), nil},
		{"hook that continues", loop.newUpdate(event.HookComplete, "0", 1, event.HookCompleteData{Action: "webhook", Answer: event.HookContinue}), nil},
		{
			"hook with a text", loop.newUpdate(event.HookComplete, "0", 1, event.HookCompleteData{
				Action: "script", Point: "stage_end", Answer: event.HookModifyContext, Context: &event.Ref{Size: 1234},
			}),
			[]string{"  ⚑ hook script at stage_end: modify_context (1,234 bytes of context)"},
		},
		{
			"hook that takes too long", loop.newUpdate(event.HookTimeout, "0", 1, event.HookCompleteData{
				Action: "script", Point: "stage_end", Answer: event.HookPause, Reason: "no answer within 1s",
			}),
			[]string{"  ⚑ hook script at stage_end: pause (timeout): no answer within 1s"},
		},
		{"hook left out", loop.newUpdate(event.HookSkipped, "0", 1, event.HookSkippedData{Hook: 1, Reason: "the condition does not hold"}), nil},
		{
			"hook with a bad condition", loop.newUpdate(event.HookSkipped, "0", 1, event.HookSkippedData{Hook: 2, Point: "stage_end", Reason: "division by 0", Warning: true}),
			[]string{"  ⚑ hook 2 at stage_end was skipped: division by 0"},
		},
		{"judge", pipeline.newUpdate(event.JudgeStart, "1", 1, event.JudgeStartData{Provider: "mock"}), []string{"    Asking the judge (mock)..."}},
		{"judge's answer", pipeline.newUpdate(event.JudgeComplete, "1", 1, event.JudgeCompleteData{Status: "success"}), nil},
		{"judge's silence", pipeline.newUpdate(event.JudgeComplete, "1", 1, event.JudgeCompleteData{Status: "failed", Reason: "busy"}), []string{"    The judge did not answer: busy"}},
		{
			"judge continues",
			pipeline.newUpdate(event.Decision, "1", 1, event.DecisionData{Action: "continue", Strategy: "judge", Reason: "no test", Round: 1}),
			[]string{"    judge: no test"},
		},
		{
			"end of a loop",
			loop.newUpdate(event.NodeComplete, "0", 2, event.NodeCompleteData{Name: "plan", Status: "complete", Reason: "Completed 2 iterations (max: 2)"}),
			[]string{"Completed 2 iterations (max: 2)"},
		},
		{
			"end of a node",
			pipeline.newUpdate(event.NodeComplete, "0", 2, event.NodeCompleteData{Name: "plan", Status: "complete", Reason: "Completed 2 iterations (max: 2)"}),
			[]string{"Completed 2 iterations (max: 2)", "  ✓ Completion condition met after 2 iterations", ""},
		},
		{
			"maximum",
			loop.newUpdate(event.NodeComplete, "0", 2, event.NodeCompleteData{Name: "plan", Status: "complete", Reason: "max_iterations"}),
			[]string{"Maximum iterations (2) reached"},
		},
		{
			"failed node",
			pipeline.newUpdate(event.NodeComplete, "1", 3, event.NodeCompleteData{Name: "work", Status: "failed"}),
			[]string{"  ✗ work failed", ""},
		},
		{
			"failed node whose attempt was reported",
			pipeline.newUpdate(event.NodeComplete, "1", 3, event.NodeCompleteData{
				Name: "work", Status: "failed", Reason: "gone", Failure: &event.FailureData{Message: "gone", Attempt: 2},
			}),
			[]string{"  ✗ work failed", ""},
		},
		{
			"failed node without an attempt",
			pipeline.newUpdate(event.NodeComplete, "1", 3, event.NodeCompleteData{
				Name: "work", Status: "failed", Reason: "too late", Failure: &event.FailureData{Message: "too late"},
			}),
			[]string{"too late", "  ✗ work failed", ""},
		},
		{"resumed loop", loop.newUpdate(event.SessionResumed, "", 0, none{}), []string{"Resuming session 'demo' from iteration 3"}},
		{"resumed pipeline", pipeline.newUpdate(event.SessionResumed, "", 0, none{}), []string{"Resuming session 'demo' from stage plan, iteration 3"}},
		{"not shown", loop.newUpdate(event.PluginStarted, "", 0, none{}), nil},
		{"a report", engine.Update{Session: "demo", Report: &engine.Report{Text: "hello\n"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := Renderer{}
			compare(t, tt.want, n.Lines(tt.update))
		})
	}
}

func TestRendererHeads(t *testing.T) {
	n, s := Renderer{}, pipelineStory()
	rule := "══════════════════════════════════════════════════════════════"
	thin := "──────────────────────────────────────────────────────────────"
	want := []string{"╔" + rule + "╗", "║  Pipeline: two", "║  Session:  demo", "╚" + rule + "╝", ""}
	compare(t, want, n.Lines(s.newUpdate(event.SessionStart, "", 0, struct{}{})))
	want = []string{
		"┌" + thin, "│ Loop 1/2: plan", "│ Think first", "│ Using stage type: plan", "│ Runs: 2 | Provider: mock", "└" + thin, "",
	}
	compare(t, want, n.Lines(s.newUpdate(event.NodeStart, "0", 0, struct{}{})))
	want = []string{
		"┌" + thin, "│ Loop 2/2: work", "│ Runs: until judgment says stop | Provider: claude, model opus", "└" + thin, "",
	}
	compare(t, want, n.Lines(s.newUpdate(event.NodeStart, "1", 0, struct{}{})))
}

func TestRendererVerbose(t *testing.T) {
	n, s := Renderer{Verbose: true}, loopStory()
	say := func(text string) []string { return n.Lines(engine.Update{Report: &engine.Report{Text: text}}) }
	got := [][]string{
		say("one\ntw"),
		n.Lines(engine.Update{Report: &engine.Report{Progress: sdk.Progress{Tool: "Edit"}}}),
		say("o\nthr\x1bee"),
		n.Lines(engine.Update{Report: &engine.Report{Progress: sdk.Progress{Message: "write_file \x1ba", Turn: 2}}}),
		n.Lines(engine.Update{Report: &engine.Report{Progress: sdk.Progress{Message: "write_file \x1ba", Turn: 2, Tool: "write_file"}}}),
		n.Lines(engine.Update{Report: &engine.Report{Branch: "codex", Progress: sdk.Progress{Message: "Retry 1/3: timeout"}}}),
		n.Lines(s.newUpdate(event.IterationComplete, "0", 1, event.IterationCompleteData{Summary: "done"})),
		n.Lines(s.newUpdate(event.ToolCall, "0", 1, event.ToolCallData{Tool: "Edit"})),
	}
	want := [][]string{{"    │ one"}, {}, {"    │ two"}, {"    ● Turn 2: write_file a"}, {}, {"    codex ● Retry 1/3: timeout"}, {"    │ thr ee", "    done"}, {"    [tool:Edit]"}}
	compare(t, want, got)
}

func TestDetails(t *testing.T) {
	s := pipelineStory()
	for _, tt := range []struct {
		want   string
		update engine.Update
	}{
		{"session_start", s.newUpdate(event.SessionStart, "", 0, struct{}{})},
		{
			"iteration_start node=0 run=1 iter=1 provider=claude model=opus",
			s.newUpdate(event.IterationStart, "0", 1, event.IterationStartData{Provider: "claude", Model: "opus"}),
		},
		{
			`error node=0 run=1 iter=1 error_type=provider_failed message="no luck"`,
			s.newUpdate(event.Error, "0", 1, event.FailureData{ErrorType: "provider_failed", Message: "no luck"}),
		},
	} {
		compare(t, tt.want, Details(*tt.update.Event))
	}
}

// A frame is never broken by a narrow terminal; texts are whole.
func TestFits(t *testing.T) {
	box := append(TitledBox("title", "a text that is longer than the terminal is wide"), nodeBox("loop")...)
	for _, width := range []int{0, 80, 64, 63, 40, 1} {
		for i, line := range fitFrames(box, width) {
			framed := strings.Trim(box[i], "╔═╗╚╝╠╣┌─└") == ""
			if fits := Columns(line) <= max(width, 2); width > 0 && framed && !fits || !framed && line != box[i] || width == 0 && line != box[i] {
				t.Errorf("in %d columns: %q", width, line)
			}
		}
	}
	compare(t, "╔══╗", fitFrames(box[:1], 4)[0])
}
