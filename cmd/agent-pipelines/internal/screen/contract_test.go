package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// cycleStory is a plan of the newer dialect: execute with steps and a ceiling, verify, which leads back,
// and a parallel block.
func cycleStory() story {
	mock := &plan.Provider{Type: "mock"}
	once := plan.Termination{"type": "fixed", "max": 1}
	return story{
		plan: &plan.Plan{
			Pipeline: plan.Pipeline{Name: "loop", Policy: &plan.Policy{Cost: &plan.Cost{MaxUSD: 2}}},
			Nodes: []plan.Node{
				{
					Path: "0", ID: "execute", Ref: "agent-execute", Kind: plan.KindStage, Provider: mock, Termination: once,
					Steps: &plan.Steps{From: "plan"}, Policy: &plan.Policy{Cost: &plan.Cost{MaxTokens: 4000}},
				},
				{
					Path: "1", ID: "verify", Description: "Measures", Kind: plan.KindStage, Provider: mock,
					Termination: plan.Termination{"type": "checks", "max": 20},
					Checks:      []plan.Check{{ID: "tests"}}, Transitions: map[plan.Outcome]plan.Edge{plan.OutcomeFail: {To: "execute"}},
				},
				{
					Path: "2", ID: "both", Kind: plan.KindParallel, Checks: []plan.Check{{ID: "tests"}}, Providers: []plan.BlockProvider{{Name: "mock"}},
					Stages: []plan.Node{{Path: "2.0", ID: "work", Kind: plan.KindStage, Checks: []plan.Check{{ID: "tests"}}}},
				},
			},
		},
		state: &state.State{
			Identity: state.Identity{Mode: "pipeline"}, Position: state.Position{At: "0", Nodes: map[string]state.Node{
				"0": {NodeProgress: state.NodeProgress{Visit: 2}, NodeLoops: state.NodeLoops{Order: []string{"s1", "s2", "s3"}}}, "1": {NodeProgress: state.NodeProgress{Visit: 1}}, "2": {},
			}},
			Limits: state.Limits{Charges: map[string]state.Charge{"": {USD: 0.5, UnknownUSD: 1}, "0": {Tokens: 2450, UnknownTokens: 2}}},
		},
	}
}

// U135: the remedy of a failure is shown once, however often the attempt is repeated.
func TestRemedy(t *testing.T) {
	s := cycleStory()
	n := &Renderer{}
	for _, tt := range []struct {
		name, remedy string
		want         []string
	}{
		{"first", "start it", []string{"[VERIFY] ✗ provider_failed: refused", "[VERIFY]   start it"}},
		{"again", "start it", []string{"[VERIFY] ✗ provider_failed: refused"}},
		{"another", "log in", []string{"[VERIFY] ✗ provider_failed: refused", "[VERIFY]   log in"}},
		{"none", "", []string{"[VERIFY] ✗ provider_failed: refused"}},
		{"first after another", "start it", []string{"[VERIFY] ✗ provider_failed: refused", "[VERIFY]   start it"}},
	} {
		got := n.Lines(s.newUpdate(event.Error, "1", 1, event.FailureData{ErrorType: "provider_failed", Message: "refused", Remedy: tt.remedy}))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// U135, U226, U209, K36: a view describes a node with a contract.
func TestContract(t *testing.T) {
	s := cycleStory()
	step := func(u engine.Update, id string) engine.Update { u.Event.Cursor.Step = id; return u }
	withProvider := func(u engine.Update, provider string) engine.Update {
		u.Event.Cursor.Provider = provider
		u.Event.Key = event.Location{Node: "2.0", Visit: 1, Run: 1, Branch: provider, Iteration: 1}.Key(event.KeyCheck, 1)
		return u
	}
	two := 2
	waits := cycleStory()
	waits.state.Waits = true
	type none struct{}
	for _, tt := range []struct {
		name   string
		update engine.Update
		want   []string
	}{
		{"visit", s.newUpdate(event.NodeStart, "0", 0, none{}), []string{"[EXECUTE] Stage 1/3: agent-execute (mock), visit 2"}},
		{"first visit", s.newUpdate(event.NodeStart, "1", 0, none{}), []string{"[VERIFY] Stage 2/3: Measures (mock)"}},
		{"the only iteration", s.newUpdate(event.IterationStart, "0", 1, none{}), nil},
		{"iteration", s.newUpdate(event.IterationStart, "1", 2, none{}), []string{"[VERIFY] Iteration 2/20"}},
		{"iteration of a step", step(s.newUpdate(event.IterationStart, "1", 2, none{}), "s1"), []string{"[VERIFY] Iteration 2"}},
		{
			"steps planned", s.newUpdate(event.StepsPlanned, "0", 1, event.StepsPlannedData{Steps: []event.StepData{{ID: "s1", Title: "One\x1b"}, {ID: "s2"}}}),
			[]string{"[EXECUTE] 2 steps", "[EXECUTE]   1. One", "[EXECUTE]   2. s2"},
		},
		{
			"no steps to be had", s.newUpdate(event.StepsPlanned, "0", 1, event.StepsPlannedData{Failure: &event.FailureData{ErrorType: "result_invalid", Message: "no list"}}),
			[]string{"[EXECUTE] ✗ result_invalid: no list"},
		},
		{"step", s.newUpdate(event.StepStart, "0", 1, event.StepStartData{Step: "s2", Title: "Two", N: 2, Total: 3}), []string{"[EXECUTE] Step 2/3: Two"}},
		{"step done", s.newUpdate(event.StepComplete, "0", 1, event.StepCompleteData{Step: "s2", Status: "complete", N: 2, Total: 3}), []string{"[EXECUTE] Step 2/3 complete"}},
		{
			"step failed", s.newUpdate(event.StepComplete, "0", 1, event.StepCompleteData{Step: "s2", Status: "failed", Reason: "no disk", N: 2, Total: 3}),
			[]string{"[EXECUTE] ✗ Step 2/3 failed: no disk"},
		},
		{"step blocked", s.newUpdate(event.StepBlocked, "0", 1, event.StepBlockedData{Step: "s3", By: "s2"}), []string{"[EXECUTE] Step 3/3 blocked: it depends on s2"}},
		{"retry of a step", step(s.newUpdate(event.Retry, "0", 1, event.RetryData{Rung: "step", N: 2, Max: 4}), "s2"), []string{"[EXECUTE] Retry 1/3: Step 2/3"}},
		{"retry of an attempt", s.newUpdate(event.Retry, "1", 1, event.RetryData{Rung: "attempt", N: 2, Max: 2}), []string{"[VERIFY] Retry 1/1"}},
		{"heal", s.newUpdate(event.Retry, "1", 1, event.RetryData{Rung: "heal", N: 1, Max: 2}), []string{"[VERIFY] Heal 1/2: asked for the artifact again"}},
		{"stage retry", s.newUpdate(event.Retry, "1", 1, event.RetryData{Rung: "stage", N: 2, Max: 3}), []string{"[VERIFY] Stage retry 1/2"}},
		{
			"check that passes", s.newUpdate(event.CheckResult, "1", 1, event.CheckResultData{ID: "tests", Passed: true, Reason: "fine", Counts: map[string]int{"passed": 12, "failed": 0}, DurationMS: 1234}),
			[]string{"[VERIFY] ✓ Check tests (failed 0, passed 12, 1.2s)"},
		},
		{
			"check that fails", s.newUpdate(event.CheckResult, "1", 1, event.CheckResultData{ID: "build", Reason: "exit code 2", ExitCode: &two, DurationMS: 20}),
			[]string{"[VERIFY] ✗ Check build: exit code 2 (exit code 2, 20ms)"},
		},
		{
			"check that cannot be made", s.newUpdate(event.CheckResult, "1", 1, event.CheckResultData{ID: "build", Failure: &event.FailureData{Message: "no such program"}}),
			[]string{"[VERIFY] ✗ Check build: no such program (0s)"},
		},
		{
			"check that is left out", s.newUpdate(event.CheckResult, "1", 1, event.CheckResultData{ID: "lint", Passed: true, Skipped: true, Reason: "there is no command \"lint\""}),
			[]string{`[VERIFY] ○ Check lint left out: there is no command "lint"`},
		},
		{"check in a block", withProvider(s.newUpdate(event.CheckResult, "2", 1, event.CheckResultData{ID: "tests", Passed: true}), "left"), []string{"[WORK] left: ✓ Check tests (0s)"}},
		{
			"iteration with a successor", s.newUpdate(event.IterationComplete, "1", 1, event.IterationCompleteData{Summary: "tried", Settlement: event.Settlement{Outcome: "fail", Message: "2 failed"}}),
			[]string{"[VERIFY] tried", "[VERIFY] ✗ fail: 2 failed"},
		},
		{"error", s.newUpdate(event.Error, "1", 1, event.FailureData{ErrorType: "provider_crashed", Message: "gone"}), []string{"[VERIFY] ✗ provider_crashed: gone"}},
		{
			"success", s.newUpdate(event.NodeComplete, "0", 1, event.NodeCompleteData{Name: "execute", Status: "complete", Outcome: "success", To: "1"}),
			[]string{
				"[EXECUTE] ✓ success", "[ORCHESTRATOR] Budget: cost $0.5000 / $2.0000 (unknown for 1 attempt: counted as reserved)",
				"[EXECUTE] Budget: tokens 2,450 / 4,000 (unknown for 2 attempts: counted as reserved)", "",
			},
		},
		{
			"return", s.newUpdate(event.NodeComplete, "1", 1, event.NodeCompleteData{
				Name: "verify", Status: "complete", Outcome: "fail", Reason: "2 failed", To: "0", Edge: "verify:fail->execute", Cycle: 1, Limit: 3,
			}),
			[]string{
				"[VERIFY] ✗ fail", "[EXECUTE] Cycle 1/3 verify:fail -> execute: 2 failed",
				"[ORCHESTRATOR] Budget: cost $0.5000 / $2.0000 (unknown for 1 attempt: counted as reserved)", "",
			},
		},
		{
			"escalation", s.newUpdate(event.QuestionAsked, "1", 1, event.QuestionAskedData{ID: "q-1", Kind: event.QuestionEscalation, Code: "ACODE-ORCH-003", Text: "3 returns"}),
			[]string{"[ORCHESTRATOR] ⚠ Human intervention required (ACODE-ORCH-003): 3 returns"},
		},
		{
			"escalation that waits", waits.newUpdate(event.QuestionAsked, "1", 1, event.QuestionAskedData{ID: "q-1", Kind: event.QuestionEscalation, Code: "ACODE-ORCH-004", Text: "help"}),
			[]string{"[ORCHESTRATOR] ⚠ Human intervention required (ACODE-ORCH-004): help", "    To answer it: agent-pipelines questions show demo q-1"},
		},
		{
			"warning of cost",
			engine.Update{Plan: s.plan, Event: s.newUpdate(event.BudgetWarning, "", 0, event.BudgetWarningData{SpentUSD: 1.5, WarnUSD: 1, MaxUSD: 2}).Event},
			[]string{"[ORCHESTRATOR] ⚠ $1.5000 spent, which is past warn_usd $1.0000; the ceiling is $2.0000"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := Renderer{}
			compare(t, tt.want, n.Lines(tt.update))
		})
	}
}

// U189: a view shows the consumption of each attempt.
func TestContractVerbose(t *testing.T) {
	s := cycleStory()
	in, out := int64(890), int64(20)
	n := Renderer{Verbose: true}
	got := n.Lines(s.newUpdate(event.AttemptComplete, "0", 1, event.AttemptCompleteData{DurationMS: 3210, Usage: &event.Usage{InputTokens: &in, OutputTokens: &out}}))
	got = append(got, n.Lines(s.newUpdate(event.AttemptComplete, "0", 1, event.AttemptCompleteData{DurationMS: 3}))...)
	want := []string{"[EXECUTE] Attempt took 3.2s, 890 tokens in, 20 out", "[EXECUTE] Attempt took 3ms, usage unknown"}
	compare(t, want, got)
}

func TestContractDetails(t *testing.T) {
	s := cycleStory()
	for want, u := range map[string]engine.Update{
		"step_start node=0 run=1 iter=1 n=2/3 step=s2 title=Two":                 s.newUpdate(event.StepStart, "0", 1, event.StepStartData{Step: "s2", Title: "Two", N: 2, Total: 3}),
		"check_result node=1 run=1 iter=1 check=tests reason=\"2 failed\"":       s.newUpdate(event.CheckResult, "1", 1, event.CheckResultData{ID: "tests", Reason: "2 failed"}),
		"cycle_start node=1 run=1 iter=1 cycle=1/3 edge=a:fail->b reason=broken": s.newUpdate(event.CycleStart, "1", 1, event.CycleStartData{Edge: "a:fail->b", Count: 1, Limit: 3, Reason: "broken"}),
	} {
		compare(t, want, Details(*u.Event))
	}
}
