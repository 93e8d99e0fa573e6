package schedule_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// scriptedRun answers the commands of a run and records them as texts. Examples are "execute v2 i1", "execute v1 s1
// i1#2" for a step's second attempt, "check lint", "stage 2 of 3", "wait 1s".
type scriptedRun struct {
	content string // of every settled iteration
	*history
	record []string
	// attempt returns the end of an attempt: "" for success, else an outcome, or "crash" for a transient failure.
	attempt func(c schedule.Command, node string) string
	usage   func(c schedule.Command) *event.Usage
	checks  map[string]bool
	steps   []event.StepData
	inputs  map[string]event.InputCheckedData // results of inspecting the input of a node, by node id
	// badArtifacts is the number of attempts of an iteration whose artifact is invalid.
	badArtifacts int
}

func newScriptedRun(t *testing.T, p *plan.Plan) *scriptedRun {
	t.Helper()
	return &scriptedRun{history: newHistory(t, p), attempt: func(schedule.Command, string) string { return "" }, usage: func(schedule.Command) *event.Usage { return nil }}
}

// run performs the due commands until none is left.
func (w *scriptedRun) run() *scriptedRun {
	w.t.Helper()
	for range 10_000 {
		cmds := schedule.Decide(w.plan, w.state)
		if len(cmds) == 0 {
			if w.fire() {
				continue
			}
			return w
		}
		w.perform(cmds[0])
	}
	w.t.Fatalf("no end: %v", w.record[:20])
	return w
}

// performUntil performs due commands until stop returns true for a due command, and returns that command.
func (w *scriptedRun) performUntil(stop func(c schedule.Command) bool) schedule.Command {
	w.t.Helper()
	for range 10_000 {
		c := schedule.Decide(w.plan, w.state)[0]
		if stop(c) {
			return c
		}
		w.perform(c)
	}
	w.t.Fatalf("no end: %v", w.record[:20])
	return schedule.Command{}
}

// fire fires the timer that is due first.
func (w *scriptedRun) fire() bool {
	var first event.Key
	for key, timer := range w.state.Timers {
		if first == "" || timer.Due.Before(w.state.Timers[first].Due) {
			first = key
		}
	}
	if first == "" || w.state.Status != state.Running {
		return false
	}
	w.add(event.Event{Type: event.TimerFired, Key: first})
	return true
}

func (w *scriptedRun) perform(c schedule.Command) {
	w.t.Helper()
	if c.Event != nil {
		w.apply(*c.Event)
		w.add(*c.Event)
	}
	cursor := c.Location.Cursor()
	switch c.Kind {
	case schedule.Attempt:
		w.finish(c)
	case schedule.Strategy:
		w.add(event.New(event.Decision, cursor, c.Key, event.DecisionData{Action: "stop", Reason: "done"}))
	case schedule.Check:
		w.record = append(w.record, "check "+c.Check)
		w.add(event.New(event.CheckResult, cursor, c.Key, event.CheckResultData{ID: c.Check, Passed: w.checks[c.Check], Reason: "measured"}))
	case schedule.Settle:
		if c.Attempt <= w.badArtifacts {
			w.add(event.New(event.Error, cursor, c.Key, event.FailureData{
				ErrorType: "result_invalid", Message: "no goal", Retryable: true, Faults: []event.Fault{{Path: "$.goal", Code: "VAL-001"}},
			}))
			return
		}
		n := progress.StageAt(w.plan, w.state, c.Location)
		outcome := orSuccess(w.attempt(c, n.ID))
		for _, m := range w.state.LoopAt(c.Location).Measured {
			if !m.Passed {
				outcome = "fail"
			}
		}
		w.add(event.New(event.IterationComplete, cursor, c.Key, event.IterationCompleteData{
			Settlement: event.Settlement{Outcome: outcome, Message: n.ID + " says " + outcome, Feedback: &event.Ref{Path: "feedback.md"}, Content: w.content},
		}))
	case schedule.Inspect:
		w.record = append(w.record, fmt.Sprintf("inspect %s v%d", w.plan.Find(c.Location.Node).ID, c.Location.Visit))
		w.add(event.New(event.InputChecked, cursor, c.Key, w.inputs[w.plan.Find(c.Location.Node).ID]))
	case schedule.PlanSteps:
		w.add(event.New(event.StepsPlanned, cursor, c.Key, event.StepsPlannedData{Steps: w.steps}))
	}
}

func (w *scriptedRun) apply(e event.Event) {
	switch d, _ := event.Decode[event.TimerSetData](e); e.Type {
	case event.TimerSet:
		w.record = append(w.record, "wait "+d.After.String())
	case event.Retry:
		if r, _ := event.Decode[event.RetryData](e); r.Rung == "stage" || r.Rung == "heal" {
			w.record = append(w.record, fmt.Sprintf("%s %d of %d", r.Rung, r.N, r.Max))
		}
	}
}

func (w *scriptedRun) finish(c schedule.Command) {
	n := progress.StageAt(w.plan, w.state, c.Location)
	line := fmt.Sprintf("%s v%d", n.ID, c.Location.Visit)
	if c.Location.Step != "" {
		line += " " + c.Location.Step
	}
	line += fmt.Sprintf(" i%d", c.Location.Iteration)
	if c.Attempt > 1 {
		line += fmt.Sprintf("#%d", c.Attempt)
	}
	w.record = append(w.record, line)
	outcome, cursor := w.attempt(c, n.ID), c.Location.Cursor()
	switch {
	case outcome == "crash":
		w.fail(c, event.FailureData{ErrorType: "provider_crashed", Code: "ACODE-ORCH-001", Message: "it crashed", Retryable: true, Usage: w.usage(c)})
	case n.HasContract() && c.Location.Step == "":
		w.add(event.New(event.AttemptComplete, cursor, c.Key, event.AttemptCompleteData{Usage: w.usage(c)}))
	default:
		w.add(event.New(event.IterationComplete, cursor, c.Key, event.IterationCompleteData{Usage: w.usage(c), Settlement: event.Settlement{Outcome: outcome}}))
	}
}

func orSuccess(outcome string) string {
	if outcome == "" || outcome == "crash" {
		return "success"
	}
	return outcome
}

func (w *scriptedRun) count(prefix string) int {
	n := 0
	for _, line := range w.record {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// resume continues with a new kernel.
func (w *scriptedRun) resume(d event.SessionResumedData) *scriptedRun {
	w.startKernel()
	w.add(event.New(event.SessionResumed, nil, "", d))
	return w
}

func (w *scriptedRun) requireStopped(status state.Status, kind state.PauseKind) {
	w.t.Helper()
	require(w.t, w.state.Status == status && w.state.PauseKind == kind, w.state, status, kind)
}

func graph(edges map[string]map[plan.Outcome]plan.Edge, ids ...string) *plan.Plan {
	p := &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Name: "p"}}
	for i, id := range ids {
		p.Nodes = append(p.Nodes, plan.Node{
			Path: fmt.Sprint(i), ID: id, Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}, Transitions: edges[id],
		})
	}
	return p
}

func loopPlan() *plan.Plan {
	return graph(map[string]map[plan.Outcome]plan.Edge{
		"plan": {"success": {To: "execute"}}, "execute": {"success": {To: "verify"}},
		"verify": {"success": {To: "review"}, "fail": {To: "execute", Limit: 3}},
		"review": {"success": {To: "done"}, "reject": {To: "plan", Limit: 3}},
	}, "plan", "execute", "verify", "review")
}

func endNodeAs(node, outcome string) func(schedule.Command, string) string {
	return func(_ schedule.Command, n string) string {
		if n == node {
			return outcome
		}
		return ""
	}
}

// D3, U120, U122, U123: a verification that always fails gets one pass and three returns. Then the user is asked, and
// approval takes the edge once more.
func TestVerifyAlwaysFails(t *testing.T) {
	w := newScriptedRun(t, loopPlan())
	w.attempt = endNodeAs("verify", "fail")
	w.run().requireStopped(state.Paused, state.PauseEscalation)
	require(t, w.count("execute") == 4 && w.count("verify") == 4 && w.count("plan") == 1, w.record)
	c := w.state.Cycles["verify:fail->execute"]
	require(t, c.Count == 3 && c.Limit == 3 && len(c.Reasons) == 3 && w.state.Returns == 3 && w.state.PauseCode == "ACODE-ORCH-003", c, w.state)
	n := w.state.Nodes["1"]
	require(t, n.Visit == 4 && n.Feedback != nil, n)
	w.resume(event.SessionResumedData{Context: "use the other library"}).run().requireStopped(state.Paused, state.PauseEscalation)
	require(t, w.count("execute") == 5 && w.state.Cycles["verify:fail->execute"].Count == 4, w.record)
	w.attempt = endNodeAs("", "")
	w.resume(event.SessionResumedData{ResetCycles: true}).run().requireStopped(state.Completed, "")
	compare(t, 1, w.state.Returns)
}

// D3: cycle counts survive a pause: after two of three returns one return is left.
func TestCyclesSurviveAPause(t *testing.T) {
	w := newScriptedRun(t, loopPlan())
	w.attempt = func(c schedule.Command, node string) string {
		if node == "verify" && c.Location.Visit == 3 && w.state.Stop == nil {
			w.add(event.New(event.Control, nil, "", event.ControlData{ID: "c", Action: "pause"}))
		}
		return endNodeAs("verify", "fail")(c, node)
	}
	w.run().requireStopped(state.Paused, state.PauseUser)
	compare(t, 2, w.state.Cycles["verify:fail->execute"].Count)
	w.attempt = endNodeAs("verify", "fail")
	w.resume(event.SessionResumedData{}).run().requireStopped(state.Paused, state.PauseEscalation)
	compare(t, 4, w.count("execute"))
}

// U121: a negative review leads back to node "plan". U123: the edge sets the action at its limit.
func TestOnLimit(t *testing.T) {
	for _, tt := range []struct {
		onLimit string
		status  state.Status
		kind    string
	}{{"failed", state.Failed, "cycle_limit"}, {"abort", state.Aborted, "aborted"}} {
		p := loopPlan()
		p.Nodes[3].Transitions["reject"] = plan.Edge{To: "plan", Limit: 1, OnLimit: tt.onLimit}
		w := newScriptedRun(t, p)
		w.attempt = endNodeAs("review", "reject")
		w.run().requireStopped(tt.status, "")
		require(t, w.count("plan") == 2 && w.state.Failure != nil && w.state.Failure.ErrorType == tt.kind, w.record, w.state)
	}
}

// K31, K37: a node and the whole run have cycle limits, too.
func TestLimitsOfNodesAndRuns(t *testing.T) {
	edges := map[string]map[plan.Outcome]plan.Edge{}
	for _, id := range []string{"b", "c", "d"} {
		edges[id] = map[plan.Outcome]plan.Edge{"fail": {To: "a", Limit: 10}}
	}
	for _, tt := range []struct {
		name    string
		policy  plan.Cycles
		want    int
		message string
	}{
		{"a node", plan.Cycles{}, 10, "policy.cycles.max"},
		{"the run", plan.Cycles{Session: 7}, 7, "policy.cycles.session"},
		{"equal passes", plan.Cycles{Identical: 3}, 2, "produced the same output"},
		{"passes with other content", plan.Cycles{Identical: 3}, 10, "taken 10 of 10 times"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := graph(edges, "a", "b", "c", "d")
			p.Pipeline.Policy = &plan.Policy{Cycles: &tt.policy}
			w := newScriptedRun(t, p)
			turn := 0
			w.attempt = func(c schedule.Command, node string) string {
				if c.Kind == schedule.Attempt && node == "a" {
					turn++
				}
				if strings.Contains(tt.name, "other content") {
					w.content = strconv.Itoa(turn)
				}
				if tt.policy.Identical == 0 && node == []string{"b", "c", "d"}[turn%3] || tt.policy.Identical > 0 && node == "b" {
					return "fail"
				}
				return ""
			}
			w.run().requireStopped(state.Paused, state.PauseEscalation)
			require(t, w.state.Returns == tt.want && strings.Contains(w.state.PauseReason, tt.message), w.state)
		})
	}
}

// D3, U124, U125, U126, K33: a step that always fails gets four attempts, with pauses of 1, 2 and 4 s, and two stage
// retries. After twelve calls in all, the user is asked.
func TestStepAlwaysFails(t *testing.T) {
	p := graph(nil, "plan", "execute")
	p.Nodes[1].Steps = &plan.Steps{From: "plan", Path: "steps"}
	w := newScriptedRun(t, p)
	w.steps = []event.StepData{{ID: "s1"}, {ID: "s2", DependsOn: []string{"s1"}}, {ID: "s3"}}
	w.attempt = func(c schedule.Command, _ string) string {
		if c.Location.Step == "s1" {
			return "crash"
		}
		return ""
	}
	w.run().requireStopped(state.Paused, state.PauseEscalation)
	want := []string{
		"plan v1 i1",
		"execute v1 s1 i1", "wait 1s", "execute v1 s1 i1#2", "wait 2s", "execute v1 s1 i1#3", "wait 4s", "execute v1 s1 i1#4",
		"execute v1 s3 i1", "stage 2 of 3",
		"execute v1 s1 i2", "wait 1s", "execute v1 s1 i2#2", "wait 2s", "execute v1 s1 i2#3", "wait 4s", "execute v1 s1 i2#4", "stage 3 of 3",
		"execute v1 s1 i3", "wait 1s", "execute v1 s1 i3#2", "wait 2s", "execute v1 s1 i3#3", "wait 4s", "execute v1 s1 i3#4",
	}
	compare(t, want, w.record)
	ns := w.state.Nodes["1"]
	require(t, ns.Steps["s2"].Status == state.StepBlocked && ns.Steps["s3"].Status == state.StepComplete && w.state.PauseCode == "ACODE-ORCH-004", ns.Steps, w.state)
	f := ns.Loop.Failure
	require(t, f != nil && f.Code == "ACODE-EXEC-001" && f.Step == "s1" && f.ErrorType == "provider_crashed", f)
	w.record = nil
	w.resume(event.SessionResumedData{SkipFailedStep: true}).run().requireStopped(state.Completed, "")
	compare(t, []string{"execute v1 s2 i1"}, w.record)
}

// K33: retry.on_stage_retry: single gives a failed step one attempt per stage retry; retry_by sets retries by action.
func TestRetriesOfSteps(t *testing.T) {
	p := graph(nil, "plan", "execute")
	p.Nodes[1].Steps = &plan.Steps{From: "plan", RetryBy: map[string]int{"READ": 1}}
	p.Nodes[1].Policy = &plan.Policy{Retry: &plan.Retry{Stage: 2, OnStageRetry: "single"}}
	for action, want := range map[string]int{"": 4 + 1 + 1, "READ": 2 + 1 + 1} {
		w := newScriptedRun(t, p)
		w.steps = []event.StepData{{ID: "s1", Action: action}}
		w.attempt = endNodeAs("execute", "crash")
		w.run()
		got := w.count("execute")
		require(t, got == want, action, got)
	}
}

// U160, U161: a hundred parallel steps with dependencies all run, at most four at once, and the state stays under 100
// KB.
func TestParallelSteps(t *testing.T) {
	p := graph(nil, "plan", "execute")
	p.Nodes[1].Steps = &plan.Steps{From: "plan", Parallel: true}
	w := newScriptedRun(t, p)
	for i := range 100 {
		st := event.StepData{ID: fmt.Sprintf("s%03d", i)}
		if i >= 10 {
			st.DependsOn = []string{fmt.Sprintf("s%03d", i-10)}
		}
		w.steps = append(w.steps, st)
	}
	limit := 0
	w.attempt = func(schedule.Command, string) string {
		running := 0
		for _, st := range w.state.Nodes["1"].Steps {
			if st.Status == state.StepRunning {
				running++
			}
		}
		limit = max(limit, running)
		return ""
	}
	w.run().requireStopped(state.Completed, "")
	require(t, w.count("execute") == 100 && limit <= 4 && len(asJSON(w.state)) <= 100<<10, w.count("execute"), limit, len(asJSON(w.state)))
}

// On re-entry finished steps stay done unless their content changed or they are named; if no step is left to do,
// all are repeated.
func TestStepsOfALaterVisit(t *testing.T) {
	p := graph(map[string]map[plan.Outcome]plan.Edge{"verify": {"fail": {To: "execute"}}}, "plan", "execute", "verify")
	p.Nodes[1].Steps = &plan.Steps{From: "plan"}
	w := newScriptedRun(t, p)
	w.steps = []event.StepData{{ID: "s1", Item: event.Ref{SHA256: "a"}}, {ID: "s2", Item: event.Ref{SHA256: "b"}}}
	w.attempt = func(c schedule.Command, node string) string {
		if node != "verify" || c.Location.Visit > 2 {
			return ""
		}
		w.steps[1].Item.SHA256 = fmt.Sprint("c", min(c.Location.Visit, 1)) // changed content, once
		return "fail"
	}
	w.run().requireStopped(state.Completed, "")
	want := []string{"plan v1 i1", "execute v1 s1 i1", "execute v1 s2 i1", "verify v1 i1", "execute v2 s2 i1", "verify v2 i1", "execute v3 s1 i1", "execute v3 s2 i1", "verify v3 i1"}
	compare(t, want, w.record)
}

// All checks run, in order, whatever the agent reports; a failed entry check keeps the agent from working.
func TestChecks(t *testing.T) {
	p := graph(map[string]map[plan.Outcome]plan.Edge{"a": {"fail": {To: "failed"}}}, "a")
	p.Nodes[0].Checks = []plan.Check{{ID: "green", At: plan.AtEnter}, {ID: "build"}, {ID: "lint"}}
	for _, tt := range []struct {
		checks  map[string]bool
		message string
		status  state.Status
		calls   []string
	}{
		{map[string]bool{"green": true, "build": true, "lint": true}, "", state.Completed, []string{"check green", "a v1 i1", "check build", "check lint"}},
		{map[string]bool{"green": true, "build": false, "lint": true}, "", state.Failed, []string{"check green", "a v1 i1", "check build", "check lint"}},
		{map[string]bool{"green": true, "build": true, "lint": true}, "fail", state.Failed, []string{"check green", "a v1 i1", "check build", "check lint"}},
		{map[string]bool{"green": false}, "", state.Failed, []string{"check green"}},
	} {
		w := newScriptedRun(t, p)
		w.checks, w.attempt = tt.checks, endNodeAs("a", tt.message)
		w.run().requireStopped(tt.status, "")
		if diff := cmp.Diff(tt.calls, w.record); diff != "" {
			t.Errorf("%v: %s", tt.checks, diff)
		}
	}
}

// U131: an agent's escalation is handled first, does not count as a failure, and the agent continues with the user's
// text.
func TestEscalate(t *testing.T) {
	w := newScriptedRun(t, graph(map[string]map[plan.Outcome]plan.Edge{"a": {"success": {To: "next"}}}, "a", "b"))
	w.attempt = endNodeAs("a", "escalate")
	w.run().requireStopped(state.Paused, state.PauseEscalation)
	id := w.state.UnansweredQuestions()[0]
	w.attempt = endNodeAs("", "")
	w.add(event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
		ID: id, Answer: "approve", Text: "use Google", Digest: w.state.Questions[id].Digest,
	}))
	w.resume(event.SessionResumedData{}).run().requireStopped(state.Completed, "")
	compare(t, []string{"a v1 i1", "a v2 i1", "b v1 i1"}, w.record)
}

// U113: a skipped node is visible in the journal.
func TestSkip(t *testing.T) {
	p := graph(nil, "a", "b")
	p.Pipeline.Overrides = &plan.Overrides{PathOverrides: plan.PathOverrides{Skip: []string{"a"}}}
	w := newScriptedRun(t, p)
	w.run().requireStopped(state.Completed, "")
	require(t, w.count("a") == 0 && w.state.Nodes["0"].Status == state.NodeSkipped && w.state.Nodes["0"].Outcome == "skip", w.record, w.state)
}

func fixedCost(usd float64) func(schedule.Command) *event.Usage {
	return func(schedule.Command) *event.Usage { return &event.Usage{CostUSD: &usd} }
}

// Sixteen providers under one ceiling together never exceed that ceiling.
func TestNoOvershoot(t *testing.T) {
	block := plan.Node{Path: "0", ID: "many", Kind: plan.KindParallel, Stages: []plan.Node{{
		Path: "0.0", ID: "work", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 5},
	}}}
	for i := range 16 {
		block.Providers = append(block.Providers, plan.BlockProvider{Name: "mock", As: fmt.Sprint("m", i)})
	}
	for _, reserve := range []float64{0.3, 0} {
		p := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{block}, Pipeline: plan.Pipeline{Policy: &plan.Policy{Cost: &plan.Cost{MaxUSD: 2, ReserveUSD: reserve}}}}
		w := newScriptedRun(t, p)
		under := map[event.Key]schedule.Command{}
		for w.state.Status == state.Running {
			i := slices.IndexFunc(schedule.Decide(p, w.state), func(c schedule.Command) bool { _, busy := under[c.Key]; return !busy })
			if i >= 0 {
				if c := schedule.Decide(p, w.state)[i]; c.Kind == schedule.Attempt {
					w.add(*c.Event)
					under[c.Key] = c
				} else {
					w.perform(c)
				}
				continue
			}
			if len(under) == 0 {
				require(t, w.fire(), schedule.Decide(p, w.state))
				continue
			}
			for key, c := range under {
				delete(under, key)
				w.usage = fixedCost(0.3)
				w.finish(c)
				break
			}
		}
		got := w.state.Charges[""]
		require(t, got.USD <= 2 && got.USD >= 1.7 && got.Attempts == 6, reserve, got)
	}
}

// A call without reported usage is charged its reservation. The user can continue a run that its budget stopped.
func TestUnknownCost(t *testing.T) {
	p := graph(nil, "a", "b", "c")
	p.Pipeline.Policy = &plan.Policy{Cost: &plan.Cost{MaxUSD: 1, ReserveUSD: 0.5}}
	w := newScriptedRun(t, p)
	w.run().requireStopped(state.Paused, state.PauseEscalation)
	got := w.state.Charges[""]
	require(t, got.USD == 1 && got.UnknownUSD == 2 && w.state.PauseCode == "ACODE-ORCH-005" && w.state.Usage.CostUSD == nil, got, w.state)
	require(t, strings.Contains(w.state.PauseReason, "2 calls did not report"), w.state)
	w.resume(event.SessionResumedData{}).run().requireStopped(state.Completed, "")
}

// An interrupted call is charged its reservation.
func TestInterruptedCallIsCharged(t *testing.T) {
	p := graph(nil, "a")
	p.Nodes[0].Policy = &plan.Policy{Cost: &plan.Cost{MaxTokens: 1000, ReserveTokens: 400}}
	w := newScriptedRun(t, p)
	c := w.commit()
	require(t, c.Kind == schedule.Attempt, c)
	w.startKernel()
	got := w.state.Charges["0"]
	require(t, got.Tokens == 400 && got.UnknownTokens == 1, got)
}
