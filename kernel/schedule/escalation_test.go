package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// newEscalatingRun returns a run at a node that needs the user, under a policy.
func newEscalatingRun(t *testing.T, e *plan.Escalation) *scriptedRun {
	t.Helper()
	p := graph(map[string]map[plan.Outcome]plan.Edge{"a": {"success": {To: "next"}}}, "a", "b")
	p.Nodes[0].Policy = &plan.Policy{Escalation: e}
	w := newScriptedRun(t, p)
	w.attempt = endNodeAs("a", "escalate")
	return w
}

// openQuestion runs until nothing is due, without firing timers, and returns the open question.
func (w *scriptedRun) openQuestion() (string, state.Question) {
	w.t.Helper()
	for cmds := schedule.Decide(w.plan, w.state); len(cmds) > 0; cmds = schedule.Decide(w.plan, w.state) {
		w.perform(cmds[0])
	}
	for id, q := range w.state.Questions {
		return id, q
	}
	w.t.Fatalf("nothing is asked, the run is %s", w.state.Status)
	return "", state.Question{}
}

func (w *scriptedRun) answer(id, option, text string) {
	w.add(event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{ID: id, Answer: option, Text: text, Digest: w.state.Questions[id].Digest}))
}

// U128, U130, K9: with wait the run keeps running, with a deadline; on_timeout sets the action after the deadline.
func TestEscalationWithWait(t *testing.T) {
	tests := []struct {
		name   string
		policy plan.Escalation
		limit  time.Duration
		status state.Status
		kind   state.PauseKind
		reason string
	}{
		{"the default", plan.Escalation{Wait: new(true)}, 24 * time.Hour, state.Aborted, "", "no answer came in time: a needs the user"},
		{"abort", plan.Escalation{Wait: new(true), Timeout: 60, OnTimeout: "abort"}, time.Minute, state.Aborted, "", "no answer came in time: a needs the user"},
		{"pause", plan.Escalation{Wait: new(true), Timeout: 60, OnTimeout: "pause"}, time.Minute, state.Paused, state.PauseEscalation, ""},
		{"failed", plan.Escalation{Wait: new(true), Timeout: 60, OnTimeout: "failed"}, time.Minute, state.Failed, "", "no answer came in time: a needs the user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newEscalatingRun(t, &tt.policy)
			id, q := w.openQuestion()
			w.requireStopped(state.Running, "")
			timer := w.state.Timers[q.Key]
			require(t, w.state.AwaitsUser() && timer.Due.Sub(q.AskedAt) == tt.limit && q.Due.Equal(timer.Due) && timer.Purpose == state.PurposeEscalation, timer, q)
			w.run().requireStopped(tt.status, tt.kind)
			got := w.state.Reason
			require(t, len(got) >= len(tt.reason) && got[:len(tt.reason)] == tt.reason, got)
			open, still := w.state.Questions[id]
			require(t, len(w.state.Timers) == 0 && still == (tt.status == state.Paused) && open.Due == nil, w.state)
			if tt.status == state.Failed && w.state.Failure.ErrorType != "approval_required" {
				t.Errorf("failed for %+v", w.state.Failure)
			}
			if tt.status == state.Aborted {
				return
			}
			w.attempt = endNodeAs("none", "")
			w.resume(event.SessionResumedData{}).run().requireStopped(state.Completed, "")
		})
	}
}

// A run that would pause has a deadline only if the session waits anyway and the policy sets one. A paused run waits
// without limit.
func TestEscalationWithoutWait(t *testing.T) {
	for _, tt := range []struct {
		policy *plan.Escalation
		waits  bool
		limit  bool
	}{
		{nil, false, false},
		{nil, true, false},
		{&plan.Escalation{OnLimit: "pause"}, true, false},
		{&plan.Escalation{Timeout: 60}, false, false},
		{&plan.Escalation{Timeout: 60}, true, true},
	} {
		w := newEscalatingRun(t, tt.policy)
		w.state.Waits = tt.waits
		_, q := w.openQuestion()
		got := w.state.Timers[q.Key] != (state.Timer{})
		require(t, got == tt.limit && !q.Waits, w.state)
		if tt.waits {
			w.requireStopped(state.Running, "")
			w.add(event.New(event.Control, nil, "", event.ControlData{ID: "c", Action: "pause"}))
			if _, q := w.openQuestion(); q.Due != nil || len(w.state.Timers) > 0 {
				t.Errorf("paused it has %+v", w.state.Timers)
			}
			continue
		}
		w.requireStopped(state.Paused, state.PauseEscalation)
	}
}

// The first answer wins, also against a deadline that has just passed; a closed escalation accepts no answer.
func TestFirstAnswerToAnEscalationWins(t *testing.T) {
	for _, when := range []string{"in time", "just after"} {
		w := newEscalatingRun(t, &plan.Escalation{Wait: new(true)})
		id, _ := w.openQuestion()
		if when == "just after" {
			w.fire()
		}
		w.attempt = endNodeAs("none", "")
		w.answer(id, event.AnswerApprove, "use Google")
		require(t, w.state.Context == "use Google" && len(w.state.Timers) == 0, when, w.state)
		w.run().requireStopped(state.Completed, "")
	}
	w := newEscalatingRun(t, &plan.Escalation{Wait: new(true)})
	id, q := w.openQuestion()
	w.run().requireStopped(state.Aborted, "")
	late := event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{ID: id, Answer: event.AnswerApprove, Digest: q.Digest})
	if _, err := progress.Apply(w.plan, w.state, late); !isInvalidTransition(err) {
		t.Errorf("an answer after the end: %v", err)
	}
}

// The deadline is a point in time: a crash and a resume change neither the deadline nor the question.
func TestEscalationSurvivesACrash(t *testing.T) {
	w := newEscalatingRun(t, &plan.Escalation{Wait: new(true), Timeout: 60})
	id, q := w.openQuestion()
	w.resume(event.SessionResumedData{})
	again, open := w.openQuestion()
	require(t, again == id && cmp.Diff(q, open) == "" && w.state.Timers[q.Key].Due.Equal(*q.Due), again, open, id, q, w.state)
	w.attempt = endNodeAs("none", "")
	w.answer(id, event.AnswerApprove, "")
	w.run().requireStopped(state.Completed, "")
	compare(t, []string{"a v1 i1", "a v2 i1", "b v1 i1"}, w.record)
}

// U129: the node runs again after its escalation, and may escalate again, under another name, as often as cycles.max
// allows.
func TestRepeatedEscalation(t *testing.T) {
	w := newEscalatingRun(t, nil)
	w.plan.Nodes[0].Policy = &plan.Policy{Cycles: &plan.Cycles{Max: 2}}
	names, ids := map[string]bool{}, map[string]bool{}
	for range 3 {
		id, q := w.openQuestion()
		names[q.Escalation], ids[id] = true, true
		w.requireStopped(state.Paused, state.PauseEscalation)
		w.answer(id, event.AnswerApprove, "more")
		w.resume(event.SessionResumedData{})
		if len(names) == 3 {
			break
		}
		if w.run(); w.state.Status == state.Failed {
			break
		}
	}
	w.requireStopped(state.Failed, "")
	require(t, len(names) == 2 && len(ids) == 2 && w.count("a ") == 3 && w.state.Failure.ErrorType == "cycle_limit", names, ids, w.record, w.state)
	w.attempt = endNodeAs("none", "")
	w.resume(event.SessionResumedData{}).run().requireStopped(state.Completed, "")
}

// The names of escalations count up within a second, also across runs of the session.
func TestEscalationNames(t *testing.T) {
	w := newEscalatingRun(t, nil)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var names []string
	ask := func(n int, now time.Time) {
		loc := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: n}
		key := loc.Key(event.KeyAttempt, 1)
		e := event.New(event.QuestionAsked, loc.Cursor(), key, event.QuestionAskedData{ID: event.QuestionID(key), Kind: event.QuestionEscalation, Digest: "d"})
		e.Time = now
		next := must(progress.Apply(w.plan, w.state, e))
		w.state = next
		names = append(names, next.Questions[event.QuestionID(key)].Escalation)
	}
	ask(1, now)
	ask(2, now)
	ask(3, now.Add(999*time.Millisecond))
	ask(4, now.Add(time.Second))
	start := event.New(event.SessionStart, nil, "", event.SessionStartData{Mode: "pipeline"})
	start.RunID = "PL-2"
	next := must(progress.Apply(w.plan, w.state, start))
	w.state = next
	ask(1, now.Add(time.Second))
	want := []string{"ESC-20260301120000", "ESC-20260301120000-2", "ESC-20260301120000-3", "ESC-20260301120001", "ESC-20260301120001-2"}
	compare(t, want, names)
}

// U131: the question shows the artifact that the stage has left, valid or not, and the feedback.
func TestEscalationShowsArtifact(t *testing.T) {
	for _, settlement := range []event.Settlement{
		{Outcome: "escalate", Artifact: &event.Ref{Path: "artifacts/00-a.yaml"}, Feedback: &event.Ref{Path: "feedback.md"}},
		{Outcome: "escalate", Partial: &event.Ref{Path: "artifact.yaml"}, Feedback: &event.Ref{Path: "feedback.md"}},
	} {
		w := newEscalatingRun(t, nil)
		for w.state.Questions == nil {
			c := schedule.Decide(w.plan, w.state)[0]
			if c.Kind == schedule.Settle {
				w.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Settlement: settlement}))
				continue
			}
			w.perform(c)
		}
		_, q := w.openQuestion()
		want := settlement.Artifact
		if want == nil {
			want = settlement.Partial
		}
		compare(t, []event.Ref{*want, *settlement.Feedback}, q.Shown)
	}
}

// An expired escalation of one provider in a block ends the run only when the other providers have ended.
func TestEscalationInABlock(t *testing.T) {
	stage := plan.Node{Path: "0.0", ID: "work", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1}}
	block := plan.Node{Path: "0", ID: "b", Kind: plan.KindParallel, Stages: []plan.Node{stage}, Providers: []plan.BlockProvider{{Name: "m1"}, {Name: "m2"}}}
	block.Policy = &plan.Policy{Recovery: plan.RecoveryAsk, Escalation: &plan.Escalation{Wait: new(true), Timeout: 60, OnTimeout: "failed"}}
	p := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{block}}
	w := newScriptedRun(t, p)
	for len(w.state.Questions) == 0 { // one attempt is started and interrupted
		c := schedule.Decide(p, w.state)[0]
		if c.Kind != schedule.Attempt {
			w.perform(c)
			continue
		}
		w.add(*c.Event)
		w.resume(event.SessionResumedData{})
		for _, c := range schedule.Decide(p, w.state) {
			if c.Event != nil && c.Event.Type == event.QuestionAsked {
				w.add(*c.Event)
			}
		}
	}
	w.fire()
	for range 3 { // the expiry, then the other provider, whose attempt is in flight
		for _, c := range schedule.Decide(p, w.state) {
			if c.Event != nil && c.Event.Type == event.NodeComplete {
				t.Fatalf("it ends while another provider works: %s", asJSON(w.state))
			}
		}
		w.perform(schedule.Decide(p, w.state)[0])
	}
	w.run().requireStopped(state.Failed, "")
	compare(t, 1, w.count("work"))
}

// Approving the repeat of one provider's attempt does not affect another provider's result.
func TestAnswerIsForOneProvider(t *testing.T) {
	p := &plan.Plan{Version: plan.Version, Nodes: []plan.Node{{
		Path: "0", ID: "b", Kind: plan.KindParallel, Stages: []plan.Node{singleStage("0.0", "work")}, Providers: []plan.BlockProvider{{Name: "m1"}, {Name: "m2"}},
	}}}
	key := event.Location{Node: "0.0", Visit: 1, Run: 1, Branch: "m1", Iteration: 1}.Key(event.KeyAttempt, 1)
	q := state.Question{Kind: event.QuestionEscalation, Key: key, Digest: "d", QuestionText: state.QuestionText{Options: []string{event.AnswerApprove, event.AnswerReject}}}
	ended := state.Branch{Status: state.NodeRunning, Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseSettled, Iteration: 1, Attempt: 1}, LoopOutcome: state.LoopOutcome{Outcome: "fail", Reason: "it said no"}}}
	s := state.State{Identity: state.Identity{RunID: "r", Session: "s"}, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0", Nodes: map[string]state.Node{"0": {
		NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{
			"m1": {Status: state.NodeRunning, Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseCutOff, Iteration: 1, Attempt: 1}}}, "m2": ended,
		}},
	}}}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{"q-1": q}}}
	next := must(progress.Apply(p, s, event.New(event.QuestionAnswered, nil, key, event.QuestionAnsweredData{ID: "q-1", Answer: event.AnswerApprove, Digest: "d", Control: "c"})))
	branches := next.Nodes["0"].Branches
	require(t, branches["m1"].Loop.Phase == state.PhaseReady, branches["m1"])
	compare(t, ended, branches["m2"])
}
