package schedule_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// history stamps and applies events one by one and keeps the state.
type history struct {
	t     *testing.T
	plan  *plan.Plan
	state state.State
	lines []byte
	spent time.Duration // in addition to a second for each event
}

func newHistory(t *testing.T, p *plan.Plan) *history {
	t.Helper()
	h := &history{t: t, plan: p}
	h.add(event.New(event.SessionStart, &event.Cursor{NodePath: "0"}, "", event.SessionStartData{
		Mode: "pipeline", Pipeline: "golden", JournalVersion: event.JournalVersion, SchedulerVersion: progress.Version,
	}))
	h.startKernel()
	return h
}

func (h *history) startKernel() {
	e := event.New(event.KernelStart, nil, "", event.KernelStartData{PID: 7, Version: "test"})
	e.Epoch = h.state.Epoch + 1
	h.add(e)
}

func (h *history) add(e event.Event) {
	h.t.Helper()
	e.Seq, e.Session, e.RunID = h.state.Seq+1, "golden", "PL-20260102030405-00000001"
	e.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(e.Seq)*time.Second + h.spent)
	if e.Epoch == 0 {
		e.Epoch = h.state.Epoch
	}
	next, err := progress.Apply(h.plan, h.state, e)
	if err != nil {
		h.t.Fatalf("apply: %v", err)
	}
	h.state = next
	if h.lines, err = e.AppendLine(h.lines); err != nil {
		h.t.Fatal(err)
	}
}

// nextCommand returns the single due command.
func (h *history) nextCommand() schedule.Command {
	h.t.Helper()
	cmds := schedule.Decide(h.plan, h.state)
	require(h.t, len(cmds) == 1, len(cmds), cmds)
	return cmds[0]
}

// commit records due events until an effect is due, and returns the effect; the zero command if nothing is due.
func (h *history) commit() schedule.Command {
	h.t.Helper()
	for {
		cmds := schedule.Decide(h.plan, h.state)
		if len(cmds) == 0 {
			return schedule.Command{}
		}
		if cmds[0].Event != nil {
			h.add(*cmds[0].Event)
		}
		if cmds[0].Kind != schedule.Record {
			return cmds[0]
		}
	}
}

// iterate commits up to the next attempt and completes it with the agent's decision.
func (h *history) iterate(ask string) {
	h.t.Helper()
	c := h.commit()
	require(h.t, c.Kind == schedule.Attempt, c)
	h.complete(c, ask)
}

func (h *history) complete(c schedule.Command, ask string) {
	h.t.Helper()
	h.add(event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{
		Decision: "continue", AgentDecision: ask, Summary: fmt.Sprint("iteration ", c.Location.Iteration),
		Result: event.Ref{Path: "result.json", Size: 2},
	}))
}

func (h *history) fail(c schedule.Command, d event.FailureData) {
	h.t.Helper()
	e := event.New(event.Error, c.Location.Cursor(), c.Key, d)
	e.Attempt = c.Attempt
	h.add(e)
}

func (h *history) decide(action string) {
	h.t.Helper()
	c := h.nextCommand()
	require(h.t, c.Kind == schedule.Strategy, c)
	h.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Strategy: "drawn", Action: action, Reason: action}))
}

func (h *history) fireTimer() {
	h.t.Helper()
	h.commit()
	for key := range h.state.Timers {
		h.add(event.Event{Type: event.TimerFired, Key: key})
	}
}

// requireStatus ends the test if the run does not have the status.
func (h *history) requireStatus(want state.Status) {
	h.t.Helper()
	require(h.t, h.state.Status == want, want, h.state)
}

func (h *history) loop() state.Loop { return h.state.Nodes[h.state.At].Loop }

func stages(nodes ...plan.Node) *plan.Plan {
	for i := range nodes {
		nodes[i].Path, nodes[i].Kind = fmt.Sprint(i), plan.KindStage
		if nodes[i].ID == "" {
			nodes[i].ID = fmt.Sprintf("n%d", i)
		}
		if nodes[i].Termination == nil {
			nodes[i].Termination = plan.Termination{"type": "fixed", "max": 2}
		}
	}
	return &plan.Plan{Version: plan.Version, Pipeline: plan.Pipeline{Name: "golden"}, Nodes: nodes}
}

// U088: an error that the agent reports stops the run at once, whatever the strategy.
func TestAgentErrorFailsTheSession(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	h.iterate("error")
	h.commit()
	require(t, h.state.Status == state.Failed && h.state.Failure.ErrorType == "agent_error", h.state)
}

// D08, U086: a strategy that never stops ends at the maximum, with that reason.
func TestMaximumEndsTheLoop(t *testing.T) {
	h := newHistory(t, stages(plan.Node{Termination: plan.Termination{"type": "judgment", "max": 2}}))
	h.iterate("")
	h.decide("continue")
	h.fireTimer()
	h.iterate("")
	h.decide("continue")
	h.commit()
	n := h.state.Nodes["0"]
	require(t, h.state.Status == state.Completed && n.Reason == "max_iterations" && n.Loop.Completed == 2, h.state)
}

// U100, U099, K6: the kind of a failure and the policy decide whether it is retried, how often, and after which pauses.
func TestRetryLadder(t *testing.T) {
	crash := event.FailureData{ErrorType: "provider_crashed", Message: "crashed", Retryable: true}
	final := event.FailureData{ErrorType: "provider_missing", Message: "missing"}
	limited := crash
	limited.RetryAfter = 90
	tests := []struct {
		name    string
		policy  *plan.Policy
		failure event.FailureData
		pauses  []time.Duration // before the second, third, … attempt
	}{
		{"two attempts by default", nil, crash, []time.Duration{2 * time.Second}},
		{
			"doubled and capped", &plan.Policy{Retry: &plan.Retry{Attempts: 7}}, crash,
			[]time.Duration{2e9, 4e9, 8e9, 16e9, 30e9, 30e9},
		},
		{"the policy's own pauses", &plan.Policy{Retry: &plan.Retry{Attempts: 4, Backoff: []float64{1, 0.5}}}, crash, []time.Duration{1e9, 5e8, 5e8}},
		{"the service asks for longer", nil, limited, []time.Duration{90e9}},
		{"the pipeline's policy", nil, crash, []time.Duration{7e9, 7e9, 7e9, 7e9}},
		{"the node's over the pipeline's", &plan.Policy{Retry: &plan.Retry{Attempts: 3}}, crash, []time.Duration{7e9, 7e9}},
		{"not transient", &plan.Policy{Retry: &plan.Retry{Attempts: 7}}, final, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := stages(plan.Node{Policy: tt.policy})
			if strings.Contains(tt.name, "pipeline") {
				p.Pipeline.Policy = &plan.Policy{Retry: &plan.Retry{Attempts: 5, Backoff: []float64{7}}}
			}
			h := newHistory(t, p)
			var pauses []time.Duration
			for {
				c := h.commit()
				if c.Kind != schedule.Attempt {
					break
				}
				h.fail(c, tt.failure)
				h.commit()
				for key, timer := range h.state.Timers {
					pauses = append(pauses, timer.Due.Sub(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(h.state.Seq)*time.Second)))
					h.add(event.Event{Type: event.TimerFired, Key: key})
				}
			}
			compare(t, tt.pauses, pauses)
			require(t, h.state.Status == state.Failed && h.state.Failure.ErrorType == tt.failure.ErrorType, h.state)
		})
	}
}

// An attempt that fails because its process crashed during another call does not count against the attempt limit. This
// holds for a bounded number of times.
func TestCollateralFailureIsNotCharged(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	started := 0
	for c := h.commit(); c.Kind == schedule.Attempt; c = h.commit() {
		started++
		h.fail(c, event.FailureData{ErrorType: "provider_crashed", Message: "fell", Retryable: true, Collateral: true})
		if h.loop().Phase == state.PhaseBackoff {
			h.fireTimer()
		}
	}
	if want := 5 + 2; started != want { // five uncharged, two charged
		t.Errorf("%d attempts, want %d", started, want)
	}
}

// U069: the policy decides about an interrupted attempt. The first resume repeats it, asks or fails; the next resume
// approves the repeat.
func TestRecovery(t *testing.T) {
	tests := []struct {
		recovery plan.Recovery
		status   state.Status
		kind     state.PauseKind
		phase    state.Phase // after the first resume
	}{
		{"", state.Running, "", state.PhaseAttempt},
		{plan.RecoveryRerun, state.Running, "", state.PhaseAttempt},
		{plan.RecoveryAsk, state.Paused, state.PauseEscalation, state.PhaseCutOff},
		{plan.RecoveryFail, state.Failed, "", state.PhaseSettled},
	}
	for _, tt := range tests {
		t.Run("recovery "+string(tt.recovery), func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{Policy: &plan.Policy{Recovery: tt.recovery}}))
			h.commit()
			h.startKernel()
			h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
			h.commit()
			require(t, h.state.Status == tt.status && h.state.PauseKind == tt.kind && h.state.Nodes["0"].Loop.Phase == tt.phase, h.state)
			if tt.phase == state.PhaseAttempt {
				return
			}
			h.startKernel()
			h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{}))
			c := h.commit()
			require(t, c.Kind == schedule.Attempt && c.Attempt == 1 && c.Location.Iteration == 1, c)
		})
	}
}

// After a takeover the old kernel's events change nothing.
func TestOutdatedEpochIsRefused(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	c := h.commit()
	h.startKernel()
	late := event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{})
	late.Seq, late.Epoch = h.state.Seq+1, 1
	after, err := progress.Apply(h.plan, h.state, late)
	if !errors.Is(err, progress.ErrInvalidTransition) {
		t.Errorf("error %v", err)
	}
	compare(t, asJSON(h.state), asJSON(after))
}

// U051: the text of a resume waits for the next prompt, even if the current node needs no further iteration.
func TestResumeContextWaitsForAPrompt(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}, plan.Node{}))
	h.iterate("")
	h.add(event.New(event.Control, nil, "", event.ControlData{Action: "pause"}))
	h.commit()
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{Context: "mind the gap"}))
	h.decide("stop")
	c := h.commit()
	require(t, c.Location.Node == "1" && h.state.Context == "mind the gap", h.state, c)
	h.complete(c, "")
	compare(t, "", h.state.Context)
}

// U134: a failed session resumes at the failed iteration, with its retries renewed.
func TestResumeAfterFailure(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	h.iterate("")
	h.decide("continue")
	h.fireTimer()
	h.fail(h.commit(), event.FailureData{ErrorType: "provider_missing", Message: "missing"})
	h.commit()
	h.requireStatus(state.Failed)
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{Context: "use the second one"}))
	require(t, h.state.Context == "use the second one" && h.state.Failure == nil, h.state)
	c := h.commit()
	require(t, c.Location.Iteration == 2 && c.Attempt == 1, c)
}

// U016: a pipeline without nodes is complete at once.
func TestNoNodesCompleteAtOnce(t *testing.T) {
	h := newHistory(t, stages())
	h.commit()
	h.requireStatus(state.Completed)
}

// A strategy may ask four questions for one decision, not five.
func TestQuestionRounds(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	h.iterate("")
	rounds := 0
	for h.state.Status == state.Running && h.loop().Phase != state.PhaseSettled {
		c := h.nextCommand()
		h.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{
			Strategy: "endless", Action: "ask", Question: &event.QuestionData{Provider: "mock"},
		}))
		if h.loop().Phase == state.PhaseSettled {
			break
		}
		q := h.commit()
		h.add(event.New(event.StrategyAnswer, q.Location.Cursor(), q.Key, event.StrategyAnswerData{}))
		rounds++
	}
	require(t, rounds == 4 && h.loop().Failure.ErrorType == "strategy_failed", rounds, h.loop())
}

// An event of an unknown type is skipped unless it is critical.
func TestUnknownEvents(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	unknown := event.Event{Type: "from_the_future", Seq: h.state.Seq + 1}
	if _, err := progress.Apply(h.plan, h.state, unknown); err != nil {
		t.Error(err)
	}
	unknown.Critical = true
	_, err := progress.Apply(h.plan, h.state, unknown)
	require(t, err != nil, "an event that must be understood was skipped")
}

// The golden journal is a run with a retry, a judge's question, a delay, a crash and a resume. It is replayed as
// written, so that a scheduler change that reads old sessions differently fails here.
func TestGoldenJournal(t *testing.T) {
	p := stages(plan.Node{ID: "plan"}, plan.Node{ID: "build", Termination: plan.Termination{"type": "judgment", "max": 3}})
	if *update {
		writeGolden(t, p)
	}
	lines := must(os.ReadFile(filepath.Join("testdata", "journal-v1.jsonl")))
	var events []event.Event
	for l := range bytes.Lines(lines) {
		e := must(event.ParseLine(l))
		again := must(e.AppendLine(nil))
		compare(t, string(l), string(again))
		events = append(events, e)
	}
	var got state.State
	for _, e := range events {
		got = must(progress.Apply(p, got, e))
	}
	want := must(os.ReadFile(filepath.Join("testdata", "state-v1.json")))
	compare(t, string(want), indented(t, got))
}

func writeGolden(t *testing.T, p *plan.Plan) {
	t.Helper()
	h := newHistory(t, p)
	h.iterate("")
	h.decide("continue")
	h.fireTimer()
	h.fail(h.commit(), event.FailureData{ErrorType: "provider_crashed", Message: "exit status 1", Retryable: true})
	h.fireTimer()
	h.iterate("")
	h.decide("stop")
	c := h.commit()
	h.startKernel() // interrupted
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{By: "test"}))
	h.complete(h.commit(), "")
	d := h.nextCommand()
	h.add(event.New(event.Decision, d.Location.Cursor(), d.Key, event.DecisionData{
		Strategy: "judgment", Action: "ask", State: json.RawMessage(`{"stops":0}`),
		Question: &event.QuestionData{Prompt: event.Ref{Path: "question-1.md", Size: 3}, Provider: "claude", Model: "haiku"},
	}))
	q := h.commit()
	h.add(event.New(event.StrategyAnswer, q.Location.Cursor(), q.Key, event.StrategyAnswerData{Answer: &event.Ref{Path: "answer-1.md", Size: 3}}))
	h.decide("stop")
	h.commit()
	require(t, h.state.Status == state.Completed && c.Location.Node == "1", h.state)
	write(t, "journal-v1.jsonl", h.lines)
	write(t, "state-v1.json", []byte(indented(t, h.state)))
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("testdata", name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func indented(t *testing.T, v any) string {
	t.Helper()
	b := must(json.MarshalIndent(v, "", "  "))
	return string(b) + "\n"
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		t.Fatal(asJSON(values))
	}
}
