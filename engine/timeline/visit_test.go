package timeline_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// journal makes events, one a second.
type journal struct {
	events []event.Event
	now    time.Time
	epoch  int
}

func (j *journal) add(t event.Type, node string, kind event.KeyKind, data any) {
	j.now = j.now.Add(time.Second)
	var cursor *event.Cursor
	if node != "" {
		cursor = &event.Cursor{NodePath: node}
	}
	var key event.Key
	if kind != "" {
		key = event.Location{Node: node, Visit: 1, Run: 1, Iteration: 1}.Key(kind, 1)
	}
	e := event.New(t, cursor, key, data)
	e.Time, e.RunID, e.Epoch, e.Seq = j.now, "PL-1", j.epoch, int64(len(j.events)+1)
	j.events = append(j.events, e)
}

func (j *journal) start() {
	j.epoch = 1
	j.now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	j.add(event.SessionStart, "", "", event.SessionStartData{})
	j.add(event.KernelStart, "", "", event.KernelStartData{})
}

func used(in, out int64, usd float64) *event.Usage {
	return &event.Usage{InputTokens: &in, OutputTokens: &out, CostUSD: &usd}
}

func cycle() *plan.Plan {
	return &plan.Plan{Nodes: []plan.Node{
		{Path: "0", ID: "execute", Kind: plan.KindStage, Policy: &plan.Policy{Cost: &plan.Cost{MaxTokens: 4000, MaxUSD: 2}}},
		{Path: "1", ID: "verify", Kind: plan.KindStage},
	}}
}

// U225, U227, U236: visits are listed in order, with edges, all kinds of retries, checks, and the counts of unknown
// consumption.
func TestCycle(t *testing.T) {
	var j journal
	j.start()
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.StepsPlanned, "0", event.KeyPlan, event.StepsPlannedData{Steps: []event.StepData{{ID: "a"}, {ID: "b"}}})
	j.add(event.StepStart, "0", "", event.StepStartData{Step: "a", N: 1, Total: 2})
	j.add(event.IterationStart, "0", event.KeyAttempt, nil)
	j.add(event.Error, "0", event.KeyAttempt, event.FailureData{ErrorType: "provider_failed"})
	j.add(event.Retry, "0", event.KeyAttempt, event.RetryData{Rung: event.RungStep, N: 2, Max: 4})
	j.add(event.AttemptComplete, "0", event.KeyAttempt, event.AttemptCompleteData{Usage: used(100, 10, 0.5)})
	j.add(event.StepComplete, "0", "", event.StepCompleteData{Step: "a", Status: "complete", N: 1, Total: 2, Done: 1})
	j.add(event.StepComplete, "0", "", event.StepCompleteData{Step: "b", Status: "failed", N: 2, Total: 2, Done: 1})
	j.add(event.Retry, "0", event.KeyAttempt, event.RetryData{Rung: event.RungStage, N: 2, Max: 3})
	j.add(event.StepStart, "0", "", event.StepStartData{Step: "b", N: 2, Total: 2})
	j.add(event.StepComplete, "0", "", event.StepCompleteData{Step: "b", Status: "complete", N: 2, Total: 2, Done: 2})
	j.events[len(j.events)-1].Cursor.Step = "b"
	j.add(event.IterationComplete, "0", event.KeySettle, event.IterationCompleteData{})
	j.events[len(j.events)-1].Cursor.Step = "b"
	j.add(event.IterationComplete, "0", event.KeySettle, event.IterationCompleteData{Usage: used(100, 10, 0.5)}) // the sum of the steps, not an attempt
	j.add(event.NodeComplete, "0", "", event.NodeCompleteData{Name: "execute", Status: "complete", Outcome: "success", To: "1"})
	j.add(event.NodeStart, "1", "", nil)
	j.add(event.AttemptComplete, "1", event.KeyAttempt, event.AttemptCompleteData{})
	j.add(event.CheckResult, "1", event.KeyCheck, event.CheckResultData{ID: "tests", At: "exit", Passed: true})
	j.add(event.CheckResult, "1", event.KeyCheck, event.CheckResultData{ID: "tests", At: "exit", Reason: "2 failed", Counts: map[string]int{"failed": 2}})
	j.add(event.Retry, "1", event.KeyAttempt, event.RetryData{Rung: event.RungArtifact, N: 1, Max: 1})
	j.add(event.NodeComplete, "1", "", event.NodeCompleteData{
		Name: "verify", Status: "complete", Outcome: "fail", Reason: "2 failed", To: "0", Edge: "verify:fail->execute", Cycle: 1, Limit: 3,
	})
	j.add(event.NodeStart, "0", "", nil)

	a := fold(cycle(), j.events)
	unexported := cmpopts.IgnoreUnexported(timeline.Visit{})
	times := cmpopts.IgnoreFields(timeline.Visit{}, "StartedAt", "EndedAt")
	execute := timeline.Visit{
		Stage: "execute", Path: "0", Visit: 1, DurationMS: 14_000, End: timeline.End{Status: "complete", Outcome: "success", To: "verify"},
		Work:  timeline.Work{Iterations: 1, Attempts: 2, Retries: 1, StageRetries: 1, Usage: *used(100, 10, 0.5), UnknownTokens: 1, UnknownCost: 1},
		Steps: &timeline.Steps{Count: 2, Done: 2},
	}
	verify := timeline.Visit{
		Stage: "verify", Path: "1", Visit: 1, DurationMS: 5_000,
		End:    timeline.End{Status: "complete", Outcome: "fail", Reason: "2 failed", To: "execute", Edge: "verify:fail->execute", Cycle: 1, Limit: 3},
		Work:   timeline.Work{Attempts: 1, ArtifactRetries: 1, UnknownTokens: 1, UnknownCost: 1},
		Checks: []timeline.Check{{ID: "tests", At: "exit", Reason: "2 failed", Counts: map[string]int{"failed": 2}}},
	}
	want := []timeline.Visit{execute, verify, {Stage: "execute", Path: "0", Visit: 2, End: timeline.End{Status: "running"}}}
	if diff := cmp.Diff(want, a.Visits(), unexported, times); diff != "" {
		t.Errorf("visits (-want +got)\n%s", diff)
	}
	totals := timeline.Totals{
		DurationMS: 22_000, Visits: 3,
		Work:   timeline.Work{Iterations: 1, Attempts: 3, Retries: 1, StageRetries: 1, ArtifactRetries: 1, Usage: *used(100, 10, 0.5), UnknownTokens: 2, UnknownCost: 2},
		Cycles: []timeline.Cycle{{Edge: "verify:fail->execute", Count: 1, Limit: 3}},
		Stages: []timeline.Stage{
			{Stage: "execute", Path: "0", Kind: plan.KindStage, Visits: 2, DurationMS: 14_000, Work: execute.Work, Steps: execute.Steps, MaxTokens: 4000, MaxUSD: 2},
			{Stage: "verify", Path: "1", Kind: plan.KindStage, Visits: 1, DurationMS: 5_000, Work: verify.Work, Returns: 1, Outcome: "fail"},
		},
	}
	if diff := cmp.Diff(totals, a.Totals()); diff != "" {
		t.Errorf("totals (-want +got)\n%s", diff)
	}
}

// The time in which no kernel held the session counts for no visit. A failed visit that a resume continues stays one
// visit.
func TestIdle(t *testing.T) {
	var j journal
	j.start()
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.IterationStart, "0", event.KeyAttempt, nil)
	j.add(event.SessionPaused, "", "", nil)
	j.now, j.epoch = j.now.Add(time.Hour), 2
	j.add(event.KernelStart, "", "", nil)
	j.add(event.NodeComplete, "0", "", event.NodeCompleteData{Status: "failed", Outcome: "error", To: "failed"})
	j.now, j.epoch = j.now.Add(time.Hour), 3
	j.add(event.KernelStart, "", "", nil)
	j.add(event.IterationStart, "0", event.KeyAttempt, nil)
	j.epoch = 1
	j.add(event.Error, "0", event.KeyAttempt, nil) // of the kernel that was fenced
	j.epoch = 3
	j.add(event.NodeComplete, "0", "", event.NodeCompleteData{Status: "complete", Outcome: "success", To: "1"})
	a := fold(cycle(), j.events)
	v, _ := a.Last("0")
	if len(a.Visits()) != 1 || v.Status != "complete" || v.To != "verify" || v.Attempts != 0 || v.DurationMS != 5_000 {
		t.Errorf("%+v", a.Visits())
	}
	if total := a.Totals().DurationMS; total != 7_000 {
		t.Errorf("the run took %d ms", total)
	}
}

// A restarted node has a second visit. Another run of a pipeline, or a new start of the session, counts visits from 1
// again. A nested pipeline includes the consumption of its stages.
func TestNumbers(t *testing.T) {
	p := cycle()
	p.Nodes[1].Kind, p.Nodes[1].Plan = plan.KindPipeline, &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "inner", Kind: plan.KindStage}}}
	var j journal
	j.start()
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.NodeComplete, "0", "", event.NodeCompleteData{Status: "complete", To: "1"})
	j.add(event.NodeStart, "1", "", nil)
	for range 2 {
		j.add(event.NodeRunStart, "1", "", nil)
		j.add(event.NodeStart, "1.0", "", nil)
		j.add(event.IterationComplete, "1.0", event.KeyAttempt, event.IterationCompleteData{Usage: used(1, 2, 3)})
		j.add(event.NodeComplete, "1.0", "", event.NodeCompleteData{Status: "complete", To: "1"})
	}
	j.add(event.NodeComplete, "1", "", event.NodeCompleteData{Status: "complete", To: "done"})
	j.add(event.RunStart, "", "", nil)
	j.add(event.NodeComplete, "0", "", event.NodeCompleteData{Status: "skipped", Outcome: "skip", To: "1"})
	got := []string{}
	a := fold(p, j.events)
	for _, v := range a.Visits() {
		got = append(got, v.Stage+" "+string(rune('0'+v.Visit))+" "+v.Status)
	}
	want := []string{"execute 1 restarted", "execute 2 complete", "verify 1 complete", "inner 1 complete", "inner 1 complete", "execute 1 skipped"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	totals := a.Totals()
	if *totals.Usage.CostUSD != 6 || *totals.Tokens() != 6 || totals.Attempts != 2 || totals.Visits != 5 {
		t.Errorf("totals %+v", totals)
	}
	if nested := totals.Stages[1]; nested.Stage != "verify" || *nested.Usage.CostUSD != 6 || nested.Iterations != 0 {
		t.Errorf("nested %+v", nested)
	}
	j.start()
	if a = fold(p, j.events); len(a.Visits()) != 0 || len(a.Totals().Stages) != 0 {
		t.Errorf("a new run knows %+v", a.Visits())
	}
}

// U205, U236: an attempt that the budget did not allow is not listed. A visit that waits for the user says why.
func TestAttemptsThatNeverBegan(t *testing.T) {
	var j journal
	j.start()
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.Error, "0", event.KeyAttempt, event.FailureData{ErrorType: "budget_exceeded"})
	j.add(event.QuestionAsked, "0", event.KeyEscalate, event.QuestionAskedData{Kind: event.QuestionTool, Text: "may it?"})
	j.add(event.QuestionAsked, "0", event.KeyEscalate, event.QuestionAskedData{Kind: event.QuestionEscalation, Text: "nothing is left"})
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.IterationStart, "0", event.KeyAttempt, nil)
	j.add(event.Error, "0", event.KeyAttempt, event.FailureData{ErrorType: "provider_failed"})

	want := []timeline.Visit{
		{Stage: "execute", Path: "0", Visit: 1, DurationMS: 4_000, End: timeline.End{Status: timeline.Restarted, Reason: "nothing is left"}},
		{Stage: "execute", Path: "0", Visit: 2, DurationMS: 2_000, End: timeline.End{Status: "running"}, Work: timeline.Work{Attempts: 1, UnknownTokens: 1, UnknownCost: 1}},
	}
	got := fold(cycle(), j.events).Visits()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(timeline.Visit{}), cmpopts.IgnoreFields(timeline.Visit{}, "StartedAt", "EndedAt")); diff != "" {
		t.Errorf("visits (-want +got)\n%s", diff)
	}
}

// U228: an event without a key has the location of its cursor and the number of its visit; a key contains its location;
// names come from the plan; and events of a fenced kernel do not count.
func TestLocations(t *testing.T) {
	line := timeline.New(cycle())
	apply := func(epoch int, e event.Event) (timeline.Entry, bool) { e.Epoch = epoch; return line.Apply(e) }
	enter := func(path string) event.Event {
		return event.New(event.NodeStart, &event.Cursor{NodePath: path}, "", nil)
	}
	at := func(path string) event.Event {
		return event.New(event.ParallelProviderComplete, &event.Cursor{NodePath: path, Provider: "codex"}, "", nil)
	}
	check := func(e event.Event, name string, want event.Location) {
		t.Helper()
		got, ok := apply(2, e)
		if diff := cmp.Diff(want, got.Location); diff != "" || got.Name != name || !ok {
			t.Errorf("%q, want %q; %s", got.Name, name, diff)
		}
	}
	apply(1, event.New(event.SessionStart, nil, "", nil))
	check(event.New(event.SessionPaused, nil, "", nil), "", event.Location{})
	check(at("0"), "execute", event.Location{Node: "0", Visit: 1, Run: 1, Branch: "codex"})
	check(at("7"), "node 7", event.Location{Node: "7", Visit: 1, Run: 1, Branch: "codex"})
	apply(2, enter("1"))
	apply(2, enter("1"))
	check(at("1"), "verify", event.Location{Node: "1", Visit: 2, Run: 1, Branch: "codex"})
	if _, ok := apply(1, enter("1")); ok {
		t.Error("an event of a fenced kernel counts")
	}
	location := event.Location{Node: "1", Visit: 9, Run: 2, Iteration: 3}
	check(event.New(event.IterationComplete, nil, location.Key(event.KeyAttempt, 1), nil), "verify", location)
	apply(2, event.New(event.RunStart, nil, "", nil))
	check(at("1"), "verify", event.Location{Node: "1", Visit: 1, Run: 1, Branch: "codex"})
	inside := event.Location{Node: "2.0.1", Visit: 2, Run: 1, Branch: "codex"}
	for range 2 {
		apply(2, enter("2.0.1"))
	}
	for _, path := range []string{"2.0", "20"} { // neither is the top-level node that embeds it
		apply(2, event.New(event.NodeRunStart, &event.Cursor{NodePath: path}, "", nil))
	}
	check(at("2.0.1"), "node 2.0.1", inside)
	apply(2, event.New(event.NodeRunStart, &event.Cursor{NodePath: "2"}, "", nil))
	inside.Visit = 1
	check(at("2.0.1"), "node 2.0.1", inside)
}

// Reading a timeline between two events changes nothing.
func TestIncremental(t *testing.T) {
	var j journal
	j.start()
	j.add(event.NodeStart, "0", "", nil)
	j.add(event.IterationStart, "0", event.KeyAttempt, event.IterationStartData{Provider: "mock", Model: "small"})
	j.add(event.Error, "0", event.KeyAttempt, event.FailureData{ErrorType: "provider_failed", Usage: used(1, 2, 3)})
	j.add(event.Retry, "0", event.KeyAttempt, event.RetryData{Rung: event.RungAttempt, N: 2, Max: 3})
	j.epoch++
	j.add(event.KernelStart, "", "", nil)
	j.add(event.IterationStart, "0", event.KeyAttempt, event.IterationStartData{Provider: "mock", Model: "small"})
	j.add(event.QuestionAsked, "0", event.KeyQuestion, event.QuestionAskedData{ID: "q", Text: "may it?"})
	j.add(event.QuestionAnswered, "0", event.KeyQuestion, event.QuestionAnsweredData{ID: "q", Answer: "yes"})
	j.add(event.IterationComplete, "0", event.KeyAttempt, event.IterationCompleteData{Model: "large", DurationMS: 500})
	j.add(event.Decision, "0", event.KeyDecide, event.DecisionData{Strategy: "judgment", Action: "stop"})
	j.add(event.NodeComplete, "0", "", event.NodeCompleteData{Status: "complete", To: "1"})
	fold := func(read func(*timeline.Timeline)) (timeline.Totals, []timeline.Entry) {
		line := timeline.New(cycle())
		var entries []timeline.Entry
		for _, e := range j.events {
			entry, _ := line.Apply(e)
			entries = append(entries, entry)
			read(line)
		}
		return line.Totals(), entries
	}
	totals, entries := fold(func(*timeline.Timeline) {})
	readTotals, readEntries := fold(func(line *timeline.Timeline) {
		line.Visits()
		line.Last("0")
		line.Totals()
		line.Name("1")
	})
	if diff := cmp.Diff(totals, readTotals) + cmp.Diff(entries, readEntries); diff != "" {
		t.Error(diff)
	}
	end := entries[len(entries)-3]
	it := end.Iteration
	if !end.Completed || it.Attempts != 3 || it.Provider != "mock" || it.Model != "large" || it.Duration() != 500*time.Millisecond || it.Decision.Action != "stop" || *it.Usage.CostUSD != 3 {
		t.Errorf("the iteration is %+v", it)
	}
	if f := entries[4].Failure; f.Retry == nil || f.Retry.N != 2 || f.Name != "execute" {
		t.Errorf("the failure is %+v", f)
	}
	if q := entries[9].Answered; q != entries[8].NewQuestion || q.Answer.Answer != "yes" || entries[6].IdleSince.IsZero() || !entries[1].IdleSince.IsZero() {
		t.Errorf("the question is %+v", q)
	}
}

// fold returns the timeline of a session with the events.
func fold(p *plan.Plan, events []event.Event) *timeline.Timeline {
	a := timeline.New(p)
	for _, e := range events {
		a.Apply(e)
	}
	return a
}
