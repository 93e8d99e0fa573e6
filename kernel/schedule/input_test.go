package schedule_test

import (
	"errors"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func checkBeforePlan() *plan.Plan {
	return stages(plan.Node{Termination: plan.Termination{"type": "queue", "max": 5, "check_before": true}})
}

// Parity case check-before: under check_before the strategy is asked when the first iteration has begun and
// before its attempt. A stage with nothing to do calls no agent.
func TestCheckBeforeStops(t *testing.T) {
	h := newHistory(t, checkBeforePlan())
	h.commit() // node_start
	l := h.state.Nodes["0"].Loop
	require(t, l.Iteration == 1 && l.Completed == 0 && l.IterationStartedAt != nil, l)
	c := h.nextCommand()
	require(t, c.Kind == schedule.Strategy && c.Location.Iteration == 0 && c.Key == "decide:0/v1/r1/-/-/i0#1", c)
	h.decide("stop")
	c, want := h.nextCommand(), (event.Cursor{NodePath: "0"})
	require(t, c.Event.Type == event.NodeComplete && *c.Event.Cursor == want, c)
	h.commit()
	n := h.state.Nodes["0"]
	require(t, h.state.Status == state.Completed && n.Loop.Completed == 0 && n.Loop.IterationStartedAt == nil && h.state.Reason == "all_loops_complete", h.state)
}

// After "continue" the first iteration begins at once, without the delay between iterations.
func TestCheckBeforeContinues(t *testing.T) {
	h := newHistory(t, checkBeforePlan())
	h.commit()
	h.decide("continue")
	c := h.nextCommand()
	require(t, c.Kind == schedule.Attempt && c.Event.Type == event.AttemptStart && c.Location.Iteration == 1, c)
	h.complete(h.commit(), "")
	h.decide("stop")
	h.commit()
	n := h.state.Nodes["0"]
	require(t, n.Status == state.NodeComplete && n.Loop.Completed == 1, h.state)
}

// A run that failed because the strategy failed under check_before asks the strategy again after a resume.
func TestCheckBeforeAfterResume(t *testing.T) {
	h := newHistory(t, checkBeforePlan())
	h.commit()
	h.decide("error")
	h.commit()
	h.requireStatus(state.Failed)
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
	h.commit() // the iteration begins again
	c := h.nextCommand()
	require(t, c.Kind == schedule.Strategy && c.Location.Iteration == 0, c)
}

// K17: an agent's stop is its hint to the strategy. Only a stage with a fixed number of iterations drops a hint after
// its last iteration, because the plan ends the stage there. Strategies that count the hints receive all of them.
func TestAgentHint(t *testing.T) {
	for _, tt := range []struct {
		name, strategy, decision string
		iteration                int // of two
		want                     string
	}{
		{"fixed, before the last", "fixed", "continue", 1, "stop"},
		{"fixed, the last", "fixed", "continue", 2, ""},
		{"fixed, the last, as history has it", "fixed", "stop", 2, "stop"},
		{"another, before the last", "judgment", "continue", 1, "stop"},
		{"another, the last", "judgment", "continue", 2, "stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			delay := 0.0
			h := newHistory(t, stages(plan.Node{Delay: &delay, Termination: plan.Termination{"type": tt.strategy, "max": 2}}))
			for range tt.iteration - 1 {
				h.iterate("")
				h.decide("continue")
			}
			c := h.commit()
			h.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Decision: tt.decision, AgentDecision: "stop"}))
			compare(t, tt.want, h.state.Nodes["0"].Loop.Hint)
		})
	}
}

// inputPlan returns plan -> clarify -> work, whose second node inspects its input.
func inputPlan(change func(n *plan.Node)) *plan.Plan {
	p := graph(nil, "plan", "clarify", "work")
	p.Nodes[1].SkipWhen = "done"
	if change != nil {
		change(&p.Nodes[1])
	}
	return p
}

// U140: the input is inspected before anything else: hooks, checks and work follow, or do not run at all.
func TestInputComesFirst(t *testing.T) {
	ladder := map[plan.Outcome]plan.Edge{plan.OutcomeSuccess: {To: plan.ToNext}}
	unfit := event.InputCheckedData{Failure: &event.FailureData{ErrorType: "result_invalid", Code: "ACODE-ORCH-001", Message: "clarify lacks goal", Escalate: true}}
	made := &event.Ref{Path: "artifacts/01-clarify.v1.yaml"}
	embedded := func(n *plan.Node) {
		n.Kind, n.Termination = plan.KindPipeline, nil
		n.Plan = &plan.Plan{Nodes: []plan.Node{{Path: "0", ID: "in", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}}}}
	}
	block := func(n *plan.Node) {
		n.Kind, n.Termination, n.Providers = plan.KindParallel, nil, []plan.BlockProvider{{Name: "mock"}}
		n.Stages = []plan.Node{{Path: "1.0", ID: "in", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}}}
	}
	for _, tt := range []struct {
		name       string
		change     func(n *plan.Node)
		inspection event.InputCheckedData
		calls      []string
		status     state.Status
		outcome    string // of the node
	}{
		{name: "it can begin", inspection: event.InputCheckedData{Warnings: []string{"goal is null"}}, calls: []string{"plan v1 i1", "inspect clarify v1", "clarify v1 i1", "work v1 i1"}, status: state.Completed, outcome: "success"},
		{name: "it is skipped", inspection: event.InputCheckedData{Skip: true, Artifact: made}, calls: []string{"plan v1 i1", "inspect clarify v1", "work v1 i1"}, status: state.Completed, outcome: "skip"},
		{
			name: "no check is made of what is skipped", inspection: event.InputCheckedData{Skip: true}, calls: []string{"plan v1 i1", "inspect clarify v1", "work v1 i1"}, status: state.Completed, outcome: "skip",
			change: func(n *plan.Node) { n.Checks = []plan.Check{{ID: "before", At: plan.AtEnter}} },
		},
		{
			name: "by its edge", inspection: event.InputCheckedData{Skip: true}, calls: []string{"plan v1 i1", "inspect clarify v1"}, status: state.Completed, outcome: "skip",
			change: func(n *plan.Node) {
				n.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeSkip: {To: plan.ToDone}}
			},
		},
		{name: "it cannot begin", inspection: unfit, calls: []string{"plan v1 i1", "inspect clarify v1"}, status: state.Failed, outcome: "error"},
		{
			name: "the user is asked, and no attempt is made", inspection: unfit, calls: []string{"plan v1 i1", "inspect clarify v1"}, status: state.Paused,
			change: func(n *plan.Node) { n.Transitions = ladder },
		},
		{
			name: "by the edge of errors", inspection: unfit, calls: []string{"plan v1 i1", "inspect clarify v1", "work v1 i1"}, status: state.Completed, outcome: "error",
			change: func(n *plan.Node) {
				n.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeError: {To: "work"}}
			},
		},
		{name: "a pipeline begins", inspection: event.InputCheckedData{Input: made}, calls: []string{"plan v1 i1", "inspect clarify v1", "in v1 i1", "work v1 i1"}, status: state.Completed, outcome: "success", change: embedded},
		{name: "a pipeline is skipped", inspection: event.InputCheckedData{Skip: true}, calls: []string{"plan v1 i1", "inspect clarify v1", "work v1 i1"}, status: state.Completed, outcome: "skip", change: embedded},
		{name: "a pipeline cannot begin", inspection: unfit, calls: []string{"plan v1 i1", "inspect clarify v1"}, status: state.Failed, outcome: "error", change: embedded},
		{name: "a block is skipped", inspection: event.InputCheckedData{Skip: true}, calls: []string{"plan v1 i1", "inspect clarify v1", "work v1 i1"}, status: state.Completed, outcome: "skip", change: block},
		{name: "a block cannot begin", inspection: unfit, calls: []string{"plan v1 i1", "inspect clarify v1"}, status: state.Failed, outcome: "error", change: block},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newScriptedRun(t, inputPlan(tt.change))
			w.inputs = map[string]event.InputCheckedData{"clarify": tt.inspection}
			w.run()
			compare(t, tt.calls, w.record)
			n := w.state.Nodes["1"]
			if w.state.Status != tt.status || n.Outcome != tt.outcome || n.From != "0" || n.Inspect && tt.inspection.Failure == nil {
				t.Errorf("status %s, node %+v", w.state.Status, n)
			}
			compare(t, tt.inspection.Warnings, n.Warnings)
			if ref, has := w.state.NodeArtifact("1"); has != (tt.inspection.Artifact != nil) || has && ref != *made {
				t.Errorf("artifact %+v", ref)
			}
			compare(t, tt.inspection.Input, n.Input)
			if tt.outcome == "skip" && (n.Status != state.NodeSkipped || n.Reason == "") {
				t.Errorf("%+v", n)
			}
		})
	}
}

// A node with an invalid input inspects it again after a resume, whether the run failed or asked the user.
func TestInvalidInputIsInspectedAgain(t *testing.T) {
	unfit := event.InputCheckedData{Failure: &event.FailureData{ErrorType: "result_invalid", Message: "clarify lacks goal", Escalate: true}}
	for name, transitions := range map[string]map[plan.Outcome]plan.Edge{"failed": nil, "paused": {plan.OutcomeSuccess: {To: plan.ToNext}}} {
		t.Run(name, func(t *testing.T) {
			w := newScriptedRun(t, inputPlan(func(n *plan.Node) { n.Transitions = transitions }))
			w.inputs = map[string]event.InputCheckedData{"clarify": unfit}
			w.run()
			require(t, w.state.Status == state.Status(name) && w.state.Nodes["1"].InputFailure != nil, w.state)
			w.resume(event.SessionResumedData{}).run()
			got := w.count("inspect clarify")
			require(t, w.state.Status == state.Status(name) && got == 2 && w.count("clarify v") == 0, w.state, w.record)
			w.inputs = map[string]event.InputCheckedData{"clarify": {}}
			w.resume(event.SessionResumedData{}).run()
			require(t, w.state.Status == state.Completed && w.count("clarify v") == 1 && w.state.Nodes["1"].InputFailure == nil, w.state, w.record)
		})
	}
}

// The inspection is repeated after a crash with the same key; its result counts once, and not in another visit.
func TestInputCheckedOnce(t *testing.T) {
	w := newScriptedRun(t, inputPlan(nil))
	c := w.performUntil(func(c schedule.Command) bool { return c.Kind == schedule.Inspect })
	w.startKernel()
	w.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
	again := w.nextCommand()
	require(t, again.Kind == schedule.Inspect && again.Key == c.Key && c.Key == "input:1/v1/r1/-/-/i0#1", again, c)
	checked := event.New(event.InputChecked, c.Location.Cursor(), c.Key, event.InputCheckedData{})
	late := checked
	late.Key = "input:1/v2/r1/-/-/i0#1"
	if _, err := progress.Apply(w.plan, w.state, late); !errors.Is(err, progress.ErrInvalidTransition) {
		t.Errorf("that of another visit: %v", err)
	}
	w.add(checked)
	if _, err := progress.Apply(w.plan, w.state, checked); !errors.Is(err, progress.ErrInvalidTransition) {
		t.Errorf("applied twice: %v", err)
	}
	w.run()
	require(t, w.state.Status == state.Completed && w.count("review") == 0, w.state, w.record)
}

// A node that was stopped during the inspection repeats it after the resume.
func TestInputAfterAStop(t *testing.T) {
	w := newScriptedRun(t, inputPlan(nil))
	c := w.performUntil(func(c schedule.Command) bool { return c.Kind == schedule.Inspect })
	w.add(event.New(event.Control, nil, "", event.ControlData{ID: "c1", Action: "pause"}))
	w.add(event.New(event.InputChecked, c.Location.Cursor(), c.Key, event.InputCheckedData{Failure: &event.FailureData{ErrorType: "signal_interrupt"}}))
	w.run()
	if w.state.Status == state.Paused {
		w.resume(event.SessionResumedData{}).run()
	}
	n := w.state.Nodes["1"]
	require(t, w.state.Status == state.Completed && n.InputFailure == nil && n.Outcome == "success", w.state, n)
}

// Node.From is the node before, also over edges. A repeated node keeps it, and the first node of an embedded pipeline
// has none.
func TestFrom(t *testing.T) {
	p := graph(map[string]map[plan.Outcome]plan.Edge{
		"plan": {"success": {To: "execute"}}, "execute": {"success": {To: "verify"}, "fail": {To: "execute", Limit: 3}}, "verify": {"success": {To: "next"}, "fail": {To: "execute", Limit: 3}},
	}, "plan", "execute", "verify", "inner")
	p.Nodes[3].Kind, p.Nodes[3].Termination = plan.KindPipeline, nil
	p.Nodes[3].Plan = graph(nil, "a", "b")
	w := newScriptedRun(t, p)
	var from []string
	bad := map[string]int{"execute": 1, "verify": 1}
	w.attempt = func(c schedule.Command, n string) string {
		if c.Kind == schedule.Settle && bad[n] > 0 {
			bad[n]--
			return "fail"
		}
		if c.Kind == schedule.Attempt {
			from = append(from, n+"<-"+w.state.Nodes[c.Location.Node].From)
		}
		return ""
	}
	w.run()
	want := []string{"plan<-", "execute<-0", "execute<-0", "verify<-1", "execute<-2", "verify<-1", "a<-", "b<-3.0"}
	compare(t, want, from)
	require(t, w.state.Status == state.Completed && w.state.Nodes["3"].From == "2", w.state)
}
