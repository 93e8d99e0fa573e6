package why_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// journal makes events, one per second.
type journal struct {
	timeline *timeline.Timeline
	chain    *why.Causes
	now      time.Time
	epoch    int
}

func begin(names map[string]string) *journal {
	p := &plan.Plan{}
	for _, path := range slices.Sorted(maps.Keys(names)) {
		list := &p.Nodes
		if strings.Contains(path, ".") { // a stage of the block before it
			block := &p.Nodes[len(p.Nodes)-1]
			block.Kind, list = plan.KindParallel, &block.Stages
		}
		*list = append(*list, plan.Node{Path: path, ID: names[path]})
	}
	line := timeline.New(p)
	j := &journal{timeline: line, chain: why.NewCauses(line), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), epoch: 1}
	j.add(event.SessionStart, event.Location{}, event.SessionStartData{Mode: "pipeline", Pipeline: "ship"})
	j.add(event.KernelStart, event.Location{}, event.KernelStartData{PID: 7})
	return j
}

func (j *journal) add(t event.Type, at event.Location, data any) {
	j.now = j.now.Add(time.Second)
	var cursor *event.Cursor
	var key event.Key
	if at.Node != "" {
		at.Visit, at.Run = max(at.Visit, 1), max(at.Run, 1)
		cursor, key = at.Cursor(), at.Key(event.KeyAttempt, 1)
	}
	e := event.New(t, cursor, key, data)
	e.Time, e.RunID, e.Epoch = j.now, "PL-1", j.epoch
	if entry, ok := j.timeline.Apply(e); ok {
		j.chain.Observe(entry)
	}
}

// texts returns the kinds and texts of the causes, the newest first.
func (j *journal) texts() []string {
	var texts []string
	links, _ := j.chain.List()
	for _, l := range links {
		texts = append(texts, string(l.Kind)+": "+l.Text)
	}
	return texts
}

// Repeated causes become one: iterations by the strategy that continued them, failures by their kind, checks by their id.
func TestFolds(t *testing.T) {
	j := begin(map[string]string{"0": "build"})
	at := event.Location{Node: "0"}
	j.add(event.NodeStart, at, event.NodeStartData{Name: "build"})
	for i := 1; i <= 97; i++ {
		at.Iteration = i
		j.add(event.IterationStart, at, event.IterationStartData{Stage: "build"})
		if i%2 == 0 {
			j.add(event.Error, at, event.FailureData{Code: "X-1", ErrorType: "provider_failed", Message: fmt.Sprint("busy ", i)})
			j.add(event.Retry, at, event.RetryData{Rung: event.RungAttempt, N: 2, Max: 3})
		}
		if i > 90 {
			j.add(event.CheckResult, at, event.CheckResultData{ID: "tests", Reason: "2 failed"})
		}
		j.add(event.IterationComplete, at, event.IterationCompleteData{})
		j.add(event.Decision, at, event.DecisionData{Strategy: "queue", Action: "continue", Reason: fmt.Sprint(100-i, " left in the queue")})
	}
	want := []string{
		`went_on: iterations 1–97 of build continued: queue said "3 left in the queue" the last time`,
		"measured: check tests did not pass in iterations 91–97 of build (7 times, the last one: 2 failed)",
		"tried: 48 attempts of iterations 2–96 of build failed, the last with: provider_failed (X-1): busy 96; it was repeated (attempt 2 of 3)",
		"entered: build began",
		"began: the run began: pipeline ship",
	}
	compare(t, want, j.texts())
}

// A work check names the strategy and its reason; a hook that answers again and again is one cause with the last reason.
func TestReasons(t *testing.T) {
	j := begin(map[string]string{"0": "build"})
	at := event.Location{Node: "0"}
	j.add(event.NodeStart, at, event.NodeStartData{Name: "build"})
	j.add(event.Decision, at, event.DecisionData{Strategy: "queue", Action: "continue", Reason: "3 items"})
	for range 2 {
		j.add(event.HookComplete, at, event.HookCompleteData{Hook: 1, Point: "iteration_end", Action: "act", Answer: "pause"})
	}
	want := []string{
		"hooked: hook act at iteration_end said pause 2 times",
		"went_on: build began, because queue found work to do: \"3 items\"",
		"entered: build began",
		"began: the run began: pipeline ship",
	}
	compare(t, want, j.texts())
}

// A process that only records an answer of a paused session is not reported as cut off. One that resumed a session is.
func TestAnswerWhilePaused(t *testing.T) {
	j := begin(nil)
	j.add(event.SessionPaused, event.Location{}, event.SessionPausedData{Kind: "user"})
	for pid := 8; pid <= 9; pid++ {
		j.epoch++
		j.add(event.KernelStart, event.Location{}, event.KernelStartData{PID: pid})
	}
	j.add(event.SessionResumed, event.Location{}, event.SessionResumedData{By: "ann"})
	j.epoch++
	j.add(event.KernelStart, event.Location{}, event.KernelStartData{PID: 10})
	cut := 0
	for _, text := range j.texts() {
		if strings.HasPrefix(text, "cut_off: ") {
			cut++
			if !strings.Contains(text, "(PID 9)") {
				t.Error(text)
			}
		}
	}
	compare(t, 1, cut)
}

// In a parallel block each branch has its own causes. A crash, a fenced kernel and a new run are distinct.
func TestBranchCauses(t *testing.T) {
	j := begin(map[string]string{"0": "ideas", "0.0": "think"})
	j.add(event.NodeStart, event.Location{Node: "0"}, event.BlockStartData{Name: "ideas", Kind: "parallel", Stages: []string{"think"}})
	for i := 1; i <= 3; i++ {
		for _, branch := range []string{"left", "right"} {
			j.add(event.Decision, event.Location{Node: "0.0", Branch: branch, Iteration: i}, event.DecisionData{Strategy: "fixed", Action: "continue"})
		}
	}
	j.epoch = 2
	j.add(event.KernelStart, event.Location{}, event.KernelStartData{PID: 8})
	j.epoch = 1
	j.add(event.SessionPaused, event.Location{}, event.SessionPausedData{Kind: "user"})
	j.epoch = 2
	j.add(event.ParallelProviderFailed, event.Location{Node: "0", Branch: "left"}, event.ProviderCompleteData{Provider: "left", Failure: &event.FailureData{ErrorType: "agent_error", Message: "no"}})
	j.add(event.NodeComplete, event.Location{Node: "0"}, event.NodeCompleteData{Outcome: "error", Reason: "left failed", To: plan.ToFailed})
	j.add(event.Error, event.Location{Node: "0"}, event.FailureData{ErrorType: "agent_error", Message: "left failed"}) // repeated
	want := []string{
		"ended: ideas ended as error: left failed; that failed the run",
		"ended: left failed in ideas: agent_error: no",
		"cut_off: the process that worked on it (PID 7) ended without an event for it; its last event was decision",
		"went_on: iterations 1–3 of think by right continued: fixed had more iterations to make",
		"went_on: iterations 1–3 of think by left continued: fixed had more iterations to make",
		"entered: ideas began",
		"began: the run began: pipeline ship",
	}
	compare(t, want, j.texts())
	j.add(event.SessionStart, event.Location{}, event.SessionStartData{Mode: "loop", Stage: "build"})
	compare(t, []string{"began: the run began: stage build as a loop"}, j.texts())
}

// The list of causes is bounded: the first and the newest causes are kept, the other causes are counted.
func TestBounded(t *testing.T) {
	j := begin(map[string]string{"0": "a"})
	const visits = 5000
	for i := range visits {
		j.add(event.NodeStart, event.Location{Node: "0", Visit: i + 1}, event.NodeStartData{Name: "a"})
		j.add(event.NodeComplete, event.Location{Node: "0", Visit: i + 1}, event.NodeCompleteData{Outcome: "fail", To: "0", Edge: "a:fail->a", Cycle: i + 1, Limit: visits, Reason: "red"})
	}
	links, left := j.chain.List()
	if len(links) > 2001 || len(links)+left != visits+2 {
		t.Errorf("%d links and %d left out of %d", len(links), left, visits+2)
	}
	compare(t, why.Began, links[len(links)-1].Kind)
	if !strings.Contains(links[0].Text, "return 5000 of 5000") {
		t.Errorf("the newest is %+v", links[0])
	}
}

// Each status has an explanation and a first command.
func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status engine.Status
		text   string
		next   string
	}{
		{"never began", engine.Status{}, "never began", ""},
		{"at work", engine.Status{Identity: inspect.Identity{Status: state.Running, Locked: true, PID: 9}, Position: inspect.Position{Stage: "a", Iteration: 2, Max: 5, Attempt: 2}}, "is running at stage a, iteration 2 of 5, attempt 2 (PID 9)", "agent-pipelines attach s"},
		{"asks while it runs", engine.Status{Identity: inspect.Identity{Status: state.Running, Locked: true}, Questions: []engine.Question{{ID: "q-1", Kind: "tool", Stage: "a", Text: "may I?", Commands: inspect.QuestionCommands{Show: "show it"}}}}, `is running, and waits for an answer: question q-1 about stage a (tool): "may I?"`, "show it"},
		{"cut off", engine.Status{Identity: inspect.Identity{Status: state.Running, Crashed: true}, Position: inspect.Position{Stage: "a", Iteration: 1}, ResumeCommand: "resume"}, "was cut off at stage a, iteration 1: the process that worked on it (PID 7) is gone and recorded no end", "resume"},
		{"in doubt", engine.Status{Identity: inspect.Identity{Status: state.Running, Crashed: true}, RepairCommand: "repair"}, "was cut off: the process that worked on it (PID 7) is gone and recorded no end", "repair --dry-run"},
		{"failed without a record", engine.Status{Identity: inspect.Identity{Status: state.Failed}, Pause: inspect.Pause{Reason: "no space"}, ResumeCommand: "resume"}, "failed: no space", "resume"},
		{"used up", engine.Status{Identity: inspect.Identity{Status: state.Completed}, Pause: inspect.Pause{Reason: "max_iterations"}}, "is complete, because no iteration was left: nothing said that the work is done", "agent-pipelines session history s"},
		{"aborted", engine.Status{Identity: inspect.Identity{Status: state.Aborted}, Pause: inspect.Pause{Reason: "enough"}}, "was aborted: enough", "agent-pipelines session history s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.status.Session = "s"
			a := why.Explain(&tt.status, begin(nil).chain)
			compare(t, tt.text, a.Text)
			compare(t, tt.next, first(a.Next))
		})
	}
}

func first(commands []why.Command) string {
	if len(commands) == 0 {
		return ""
	}
	return commands[0].Line
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
