package schedule_test

import (
	"slices"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// These tests resume runs that had stopped.

func stepsPlan(edges map[string]map[plan.Outcome]plan.Edge) *plan.Plan {
	p := graph(edges, "plan", "execute", "verify")
	p.Nodes[1].Steps = &plan.Steps{From: "plan", Path: "steps"}
	p.Nodes[1].Policy = &plan.Policy{Retry: &plan.Retry{Step: 1, Stage: 1, Backoff: []float64{1}}}
	return p
}

func endStepAs(id, outcome string) func(schedule.Command, string) string {
	return func(c schedule.Command, _ string) string {
		if c.Location.Step == id {
			return outcome
		}
		return ""
	}
}

// With --skip-failed-step, finished steps stay done, and the skipped step is not repeated, not even over a back edge. A
// node that skipped all of its steps has no work when it is entered again.
func TestSkipTheLastStep(t *testing.T) {
	for last, want := range map[string][]string{
		"s2": {"verify v1 i1", "execute v2 s1 i1", "verify v2 i1"},
		"s1": {"verify v1 i1", "verify v2 i1"},
	} {
		p := stepsPlan(map[string]map[plan.Outcome]plan.Edge{"verify": {"fail": {To: "execute", Limit: 1, OnLimit: "failed"}}})
		w := newScriptedRun(t, p)
		w.steps = []event.StepData{{ID: "s1"}, {ID: "s2"}}
		if last == "s1" {
			w.steps = w.steps[:1]
		}
		w.attempt = endStepAs(last, "crash")
		w.run().requireStopped(state.Paused, state.PauseEscalation)
		w.record, w.attempt = nil, endNodeAs("verify", "fail")
		w.resume(event.SessionResumedData{SkipFailedStep: true}).run().requireStopped(state.Failed, "")
		compare(t, want, w.record)
		got := w.state.Nodes["1"].Steps[last].Status
		require(t, got == state.StepSkipped, last, got)
	}
}

// Finished steps that fail the node's checks are repeated in the stage retry, because measuring again changes
// nothing.
func TestStageRetryOfCompletedSteps(t *testing.T) {
	p := stepsPlan(nil)
	p.Nodes[1].Checks = []plan.Check{{ID: "c"}}
	w := newScriptedRun(t, p)
	w.steps = []event.StepData{{ID: "s1"}, {ID: "s2", DependsOn: []string{"s1"}}}
	w.run().requireStopped(state.Paused, state.PauseEscalation)
	want := []string{
		"plan v1 i1", "execute v1 s1 i1", "execute v1 s2 i1", "check c", "stage 2 of 2",
		"execute v1 s1 i2", "execute v1 s2 i2", "check c",
	}
	compare(t, want, w.record)
}

// recovery: fail is not undone by a stage retry: the user decides about an interrupted attempt.
func TestRecoveryFailAsksTheUser(t *testing.T) {
	p := graph(map[string]map[plan.Outcome]plan.Edge{"a": {"success": {To: "done"}}}, "a")
	p.Nodes[0].Policy = &plan.Policy{Recovery: plan.RecoveryFail}
	w := newScriptedRun(t, p)
	c := w.commit()
	require(t, c.Kind == schedule.Attempt, c)
	w.resume(event.SessionResumedData{}).run().requireStopped(state.Paused, state.PauseEscalation)
	require(t, len(w.record) == 0, w.record)
	w.resume(event.SessionResumedData{}).run().requireStopped(state.Completed, "")
	compare(t, []string{"a v2 i1"}, w.record)
}

// A node entered by an edge has the reason, even without feedback; another run of the pipeline does not.
func TestReasonOfReentry(t *testing.T) {
	tests := []struct {
		name    string
		attempt func(schedule.Command, string) string
		want    string
	}{
		{"a step failed", endStepAs("s2", "crash"), "step s2 failed: it crashed"},
		{"a step's agent says fail", endStepAs("s2", "fail"), "step s2 failed: done"},
		{"an agent's feedback", endNodeAs("verify", "fail"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			back := plan.Edge{To: "plan", Limit: 1, OnLimit: "failed"}
			w := newScriptedRun(t, stepsPlan(map[string]map[plan.Outcome]plan.Edge{"execute": {"error": back, "fail": back}, "verify": {"fail": back}}))
			w.steps = []event.StepData{{ID: "s1"}, {ID: "s2"}}
			w.attempt = tt.attempt
			w.run().requireStopped(state.Failed, "")
			ns := w.state.Nodes["0"]
			require(t, ns.Visit == 2 && ns.Cause == tt.want && (ns.Feedback != nil) == (tt.want == ""), ns.Cause, ns.Feedback, ns.Visit)
		})
	}
	p := graph(map[string]map[plan.Outcome]plan.Edge{"a": {"fail": {To: "done"}}}, "a")
	s := newScriptedRun(t, p)
	s.attempt = endNodeAs("a", "fail")
	s.state.Run, s.state.Runs = 1, 2
	s.performUntil(func(schedule.Command) bool {
		return s.state.Run == 2 && s.state.At == "0" && s.state.Nodes["0"].Visit > 0
	})
	ns := s.state.Nodes["0"]
	require(t, ns.Feedback == nil && ns.Cause == "", ns.Feedback, ns.Cause)
}

// A call may use more than earlier calls while budget is left: a single call all of the rest, parallel calls an equal
// share each.
func TestCallAboveEarlierCost(t *testing.T) {
	cost := &plan.Cost{MaxUSD: 10}
	p := graph(nil, "a", "b")
	p.Pipeline.Policy = &plan.Policy{Cost: cost}
	w := newScriptedRun(t, p)
	w.usage = fixedCost(0.5)
	w.performUntil(func(schedule.Command) bool {
		return w.state.At == "1" && w.state.Nodes["1"].Loop.Phase == state.PhaseReady
	})
	c := w.commit()
	got := w.state.Nodes["1"].Loop.Reserved[""].USD
	require(t, got != nil && *got == 9.5, got)
	w.startKernel() // the call is interrupted
	if got := w.state.Charges[""]; got.USD != 1 || got.UnknownUSD != 1 {
		t.Errorf("what did not say counts as %+v after %s", got, c.Key)
	}

	p.Nodes[1].Steps = &plan.Steps{From: "a", Parallel: true}
	w = newScriptedRun(t, p)
	w.usage, w.steps = fixedCost(1), []event.StepData{{ID: "s1"}, {ID: "s2"}, {ID: "s3"}}
	for i := 0; ; {
		cmds := schedule.Decide(p, w.state)
		attempts := slices.DeleteFunc(slices.Clone(cmds), func(c schedule.Command) bool { return c.Kind != schedule.Attempt || c.Location.Step == "" })
		switch {
		case len(attempts) > 0:
			w.add(*attempts[0].Event)
			i++
		case len(cmds) > 0:
			w.perform(cmds[0])
		}
		if i == 3 {
			break
		}
	}
	for id, st := range w.state.Nodes["1"].Steps {
		got := st.Loop.Reserved[""].USD
		require(t, got != nil && *got == 3, id, got)
	}
}

// An agent that stops short of a small share gets more when the user continues the run.
func TestResumeAllowsMoreThanAShare(t *testing.T) {
	p := graph(nil, "a")
	p.Pipeline.Policy = &plan.Policy{Cost: &plan.Cost{MaxUSD: 1}}
	w := newScriptedRun(t, p)
	for w.state.Status == state.Running {
		c := schedule.Decide(p, w.state)[0]
		if c.Kind != schedule.Attempt {
			w.perform(c)
			continue
		}
		w.add(*c.Event)
		w.fail(c, event.FailureData{ErrorType: "budget_exceeded", Message: "it would cost 1.5 USD", Usage: fixedCost(0)(c)})
	}
	w.requireStopped(state.Paused, state.PauseEscalation)
	w.resume(event.SessionResumedData{})
	for w.state.Nodes["0"].Loop.Phase != state.PhaseAttempt {
		c := schedule.Decide(p, w.state)[0]
		w.add(*c.Event)
	}
	got := w.state.Nodes["0"].Loop.Reserved[""].USD
	require(t, got != nil && *got == 2, got)
}

// A repeated step knows its agent's last feedback, even if other steps have failed, too.
func TestStepReceivesItsFeedback(t *testing.T) {
	w := newScriptedRun(t, stepsPlan(nil))
	w.steps = []event.StepData{{ID: "s1"}, {ID: "s2"}}
	known := map[string]string{}
	for range 100 {
		cmds := schedule.Decide(w.plan, w.state)
		if len(cmds) == 0 {
			break
		}
		c := cmds[0]
		if c.Kind != schedule.Attempt || c.Location.Step == "" {
			w.perform(c)
			continue
		}
		w.add(*c.Event)
		if ref := w.state.LoopAt(c.Location).Feedback; ref != nil {
			known[c.Location.Step] = ref.Path
		}
		w.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{
			Settlement: event.Settlement{Outcome: "fail", Feedback: &event.Ref{Path: c.Location.Step + ".md"}},
		}))
	}
	w.requireStopped(state.Paused, state.PauseEscalation)
	compare(t, map[string]string{"s1": "s1.md", "s2": "s2.md"}, known)
}

// The reason of a failed run is cleared when it is resumed.
func TestResumeClearsTheReason(t *testing.T) {
	w := newScriptedRun(t, graph(nil, "a"))
	w.attempt = endNodeAs("a", "crash")
	w.run().requireStopped(state.Failed, "")
	require(t, w.state.Reason != "", "a failed run has a reason")
	if w.resume(event.SessionResumedData{}); w.state.Reason != "" {
		t.Errorf("it runs, for %q", w.state.Reason)
	}
}

// Continuing after a budget stop does the remaining work, and does not repeat paid work.
func TestResumeAfterABudgetStop(t *testing.T) {
	stage := plan.Node{Path: "0", ID: "a", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 5, "early_stop": false}}
	stage.Transitions, stage.Delay = map[plan.Outcome]plan.Edge{"success": {To: "done"}}, new(float64)
	steps := stage
	steps.Path, steps.ID, steps.Termination, steps.Steps = "1", "s", plan.Termination{"type": "fixed", "max": 1}, &plan.Steps{From: "a", Parallel: true}
	block := plan.Node{Path: "2", ID: "b", Kind: plan.KindParallel, Stages: []plan.Node{{Path: "2.0", ID: "work", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}}}}
	for _, name := range []string{"m1", "m2", "m3", "m4", "m5"} {
		block.Providers = append(block.Providers, plan.BlockProvider{Name: "mock", As: name})
	}
	for _, n := range []plan.Node{stage, steps, block} {
		t.Run(n.ID, func(t *testing.T) {
			n.Path = "0"
			p := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{n}, Pipeline: plan.Pipeline{Policy: &plan.Policy{Cost: &plan.Cost{MaxUSD: 2, ReserveUSD: 1}}}}
			if n.Kind == plan.KindParallel {
				p.Nodes[0].Stages[0].Path = "0.0"
			}
			w := newScriptedRun(t, p)
			w.usage, w.steps = fixedCost(1), []event.StepData{{ID: "s1"}, {ID: "s2"}, {ID: "s3"}, {ID: "s4"}, {ID: "s5"}}
			for resumes := 0; ; resumes++ {
				for w.state.Status == state.Running {
					c := schedule.Decide(p, w.state)[0]
					if c.Kind == schedule.Strategy { // five iterations
						d := event.DecisionData{Action: "continue"}
						if w.state.LoopAt(c.Location).Completed >= n.Termination.Max() {
							d.Action = "stop"
						}
						w.add(event.New(event.Decision, c.Location.Cursor(), c.Key, d))
						continue
					}
					if c.Kind == schedule.WriteManifest {
						w.add(event.New(event.ArtifactWritten, c.Location.Cursor(), c.Key, event.ArtifactWrittenData{Name: event.Manifest}))
						continue
					}
					w.perform(c)
				}
				if w.state.Status == state.Completed {
					break
				}
				require(t, resumes <= 5, w.record)
				w.requireStopped(state.Paused, state.PauseEscalation)
				w.resume(event.SessionResumedData{})
			}
			got := w.state.Charges[""]
			require(t, got.USD == 5 && got.Attempts == 5 && got.Renewals == 2, got, w.record)
		})
	}
}

// A question that reached no agent is not charged.
func TestUnaskedQuestionIsNotCharged(t *testing.T) {
	p := graph(nil, "a")
	p.Pipeline.Policy = &plan.Policy{Cost: &plan.Cost{MaxUSD: 5, ReserveUSD: 1}}
	w := newScriptedRun(t, p)
	w.usage = fixedCost(1)
	for asked := false; w.state.Status == state.Running; {
		switch c := schedule.Decide(p, w.state)[0]; {
		case c.Kind == schedule.Strategy && !asked:
			asked = true
			w.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Action: "ask", Question: &event.QuestionData{Provider: "claude"}}))
		case c.Kind == schedule.Question:
			w.add(*c.Event)
			w.add(event.New(event.StrategyAnswer, c.Location.Cursor(), c.Key, event.StrategyAnswerData{Error: "no claude in PATH", ErrorType: "provider_missing"}))
		default:
			w.perform(c)
		}
	}
	got := w.state.Charges[""]
	require(t, got.USD == 1 && got.UnknownUSD == 0 && got.Attempts == 2, got)
}
