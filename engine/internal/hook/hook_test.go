package hook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// action is a hook action that executes a test's function.
type action func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error)

func (a action) Describe() sdk.Component { return sdk.Component{Name: "act"} }

func (a action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	return a(ctx, req)
}

func (a action) HookAction(context.Context, *plan.Hook, *plan.Node, ...string) (sdk.HookAction, error) {
	if a == nil {
		return nil, errors.New("no such action")
	}
	return a, nil
}

// fixture is a session at the end of its only stage, which has a result and an output.
type fixture struct {
	caller  *Caller
	job     kernel.EffectRequest
	records []event.Event
}

func newFixture(t *testing.T, h plan.Hook, a action) *fixture {
	t.Helper()
	project, dir := testkit.Session(t, t.TempDir(), "demo")
	if h.Number = 1; h.Point == "" {
		h.Point = plan.PointStageEnd
	}
	p := &plan.Plan{Pipeline: plan.Pipeline{Name: "p", Hooks: []plan.Hook{h}}, Nodes: []plan.Node{{
		Path: "0", ID: "draft", Ref: "writer", Kind: plan.KindStage, Provider: &plan.Provider{Type: "pen"},
	}}}
	result := testkit.Must(dir.Write("stage-00-draft/iterations/002/result.json", []byte(`{"summary":"written"}`)))
	output := testkit.Must(dir.Write("stage-00-draft/iterations/002/output.md", []byte(strings.Repeat("word ", 200))))
	at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 2}
	b := &fixture{caller: &Caller{Env: &effect.Env{Plan: p, Project: project, Dir: dir, Log: hclog.NewNullLogger()}, Actions: a}}
	b.job = kernel.EffectRequest{
		Command: schedule.Command{Kind: schedule.Hook, Key: at.Key(event.KeyHook, 1), Location: at, Hook: 1, Point: h.Point},
		State: state.State{Identity: state.Identity{Session: "demo"}, Position: state.Position{At: "0", Nodes: map[string]state.Node{"0": {
			NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning, Output: &output},
			NodeLoops:    state.NodeLoops{Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseSettled, Iteration: 2, Completed: 2}, LoopOutcome: state.LoopOutcome{Outcome: "success"}, LastIteration: state.LastIteration{Result: &result}}},
		}}}, Lifecycle: state.Lifecycle{Status: state.Running}, UserInput: state.UserInput{Context: "said"}},
		Record: func(_ context.Context, e event.Event) error { b.records = append(b.records, e); return nil },
	}
	return b
}

// end calls the hook and returns the data of its last event, which must have the type.
func (b *fixture) end(t *testing.T, want event.Type) event.HookCompleteData {
	t.Helper()
	e := b.caller.Call(t.Context(), b.job)
	if e.Type != want || e.Key != b.job.Command.Key {
		t.Fatalf("it ended as %s %s: %s", e.Type, e.Key, e.Data)
	}
	d := testkit.Must(event.Decode[event.HookCompleteData](e))
	d.DurationMS = 0
	return d
}

// U240: the request of an action describes the point, the stage and its results.
func TestRequest(t *testing.T) {
	var got sdk.HookRequest
	b := newFixture(t, plan.Hook{Action: "act", Message: "look", Timeout: 2, Config: json.RawMessage(`{"a":1}`)},
		func(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
			got = req
			return sdk.HookAnswer{}, nil
		})
	d := b.end(t, event.HookComplete)
	want := sdk.HookRequest{
		Key: "/hook:0/v1/r1/-/-/i2#1", Point: sdk.StageEnd, Session: "demo", Node: "draft", Stage: "writer", Iteration: 2, Provider: "pen",
		Status: "success", Config: json.RawMessage(`{"a":1}`), Message: "look", Timeout: 2 * time.Second,
		Summary: "written", Result: json.RawMessage(`{"summary":"written"}`), Context: "said", WorkDir: b.caller.Project.Path(),
		Artifact: strings.Repeat("word ", 100) + "…",
	}
	testkit.Equal(t, want, got)
	testkit.Equal(t, event.HookCompleteData{Hook: 1, Point: "stage_end", Action: "act", Answer: "continue"}, d)
	if len(b.records) != 1 || b.records[0].Type != event.HookStart {
		t.Errorf("recorded %v", b.records)
	}
}

// U241, U242, U249: an answer must be possible at its point; an error or a timeout counts as the configured answer.
func TestAnswers(t *testing.T) {
	answers := func(a sdk.HookAnswer) action {
		return func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) { return a, nil }
	}
	fails := func(err error) action {
		return func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) { return sdk.HookAnswer{}, err }
	}
	late := failure.New(failure.HookTimeout, "too late")
	for _, tt := range []struct {
		name   string
		hook   plan.Hook
		action action
		end    event.Type
		answer string
		reason string
	}{
		{"pause says why", plan.Hook{}, answers(sdk.HookAnswer{Action: sdk.ActionPause}), event.HookComplete, "pause", "paused by the hook act at stage_end of draft"},
		{"an unknown answer", plan.Hook{}, answers(sdk.HookAnswer{Action: "dance"}), event.HookComplete, "pause", `it answered "dance"`},
		{"an outcome that is too good", plan.Hook{}, answers(sdk.HookAnswer{Outcome: "success"}), event.HookComplete, "pause", "want fail"},
		{"too much text", plan.Hook{}, answers(sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: strings.Repeat("x", maxContext+1)}), event.HookComplete, "pause", "more than the limit"},
		{"too many facts", plan.Hook{}, answers(sdk.HookAnswer{Facts: json.RawMessage(`"` + strings.Repeat("x", maxFacts) + `"`)}), event.HookComplete, "pause", "more than the limit"},
		{"restart before the stage", plan.Hook{Point: plan.PointStageStart}, answers(sdk.HookAnswer{Action: sdk.ActionRestartStage, Context: "x"}), event.HookComplete, "modify_context", "restart_stage is not possible at stage_start"},
		{"abort at the session's end", plan.Hook{Point: plan.PointSessionEnd}, answers(sdk.HookAnswer{Action: sdk.ActionAbort}), event.HookComplete, "continue", "abort is not possible at session_end"},
		{"an error", plan.Hook{}, fails(errors.New("broken")), event.HookComplete, "pause", "the hook act at stage_end of draft: broken"},
		{"an error that does not matter", plan.Hook{OnError: plan.FallbackContinue}, fails(errors.New("broken")), event.HookComplete, "continue", "broken"},
		{"no such action", plan.Hook{OnError: plan.FallbackAbort}, nil, event.HookComplete, "abort", "no such action"},
		{"its own timeout", plan.Hook{OnError: plan.FallbackAbort}, fails(late), event.HookTimeout, "pause", "too late"},
		{"a timeout that does not matter", plan.Hook{OnTimeout: plan.FallbackContinue}, fails(late), event.HookTimeout, "continue", "too late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.hook.Action = "act"
			d := newFixture(t, tt.hook, tt.action).end(t, tt.end)
			if d.Answer != tt.answer || !strings.Contains(d.Reason, tt.reason) {
				t.Errorf("answer %s, reason %q", d.Answer, d.Reason)
			}
		})
	}
}

// A failed check fails a stage at its end; elsewhere the next agents get its text.
func TestFailedCheck(t *testing.T) {
	for point, want := range map[plan.HookPoint]struct{ answer, text, remedy string }{
		plan.PointStageEnd:     {"continue", "", "fix the cause"},
		plan.PointIterationEnd: {"modify_context", "the hook act at iteration_end of draft did not pass: 2 tests fail\nMeasured: {\"failed\":2}", ""},
		plan.PointSessionEnd:   {"continue", "", ""},
	} {
		b := newFixture(t, plan.Hook{Action: "act", Point: point}, func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
			return sdk.HookAnswer{Outcome: "fail", Reason: "2 tests fail", Facts: json.RawMessage(`{"failed":2}`)}, nil
		})
		d := b.end(t, event.HookComplete)
		text := ""
		if d.Context != nil {
			read := testkit.Must(b.caller.Dir.ReadRef(*d.Context))
			text = string(read)
		}
		if d.Answer != want.answer || text != want.text || !strings.HasPrefix(d.Failure.Remedy, want.remedy) || want.remedy == "" && d.Failure.Remedy != "" {
			t.Errorf("%s: %s %q, remedy %q", point, d.Answer, text, d.Failure.Remedy)
		}
	}
}

// U249: an action that exceeds its timeout is canceled and injects no text.
func TestUnresponsiveAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, plan.Hook{Action: "act", Timeout: 1}, func(ctx context.Context, _ sdk.HookRequest) (sdk.HookAnswer, error) {
			<-ctx.Done()
			return sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: "too late"}, nil
		})
		began := time.Now()
		d := b.end(t, event.HookTimeout)
		if took := time.Since(began); took != time.Second+GracePeriod {
			t.Errorf("it took %s", took)
		}
		if d.Context != nil || d.Answer != "pause" || d.Failure.ErrorType != string(failure.HookTimeout) {
			t.Errorf("%+v", d)
		}
	})
}

// An answer's text is a file of the session, to which the event refers; a changed file is an error.
func TestText(t *testing.T) {
	b := newFixture(t, plan.Hook{Action: "act"}, func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
		return sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: "mind the gap"}, nil
	})
	d := b.end(t, event.HookComplete)
	text, err := b.caller.Dir.ReadRef(*d.Context)
	if err != nil || string(text) != "mind the gap" {
		t.Errorf("%s: %q, %v", d.Context.Path, text, err)
	}
	st := b.job.State
	st.Injected = []event.Ref{*d.Context}
	testkit.Equal(t, "mind the gap\nsaid", testkit.Must(InjectedContext(b.caller.Dir, st, b.job.Command.Location)))
	testkit.OK(t, os.WriteFile(b.caller.Dir.Abs(d.Context.Path), []byte("something else"), 0o644))
	if _, err := InjectedContext(b.caller.Dir, st, b.job.Command.Location); err == nil {
		t.Error("a text that was changed is taken")
	}
}

// U248: a condition that does not hold, or cannot be evaluated, skips the hook.
func TestConditions(t *testing.T) {
	for text, want := range map[string]struct {
		skipped, warning bool
	}{
		`stage == "draft" && iteration == 2 && provider == "pen" && session == "demo" && status == "success" && event == "stage_end"`: {},
		`iteration > 2`:                   {skipped: true},
		`1 % (iteration % 2) == 0`:        {skipped: true, warning: true},
		`nonsense(1)`:                     {skipped: true, warning: true},
		`iteration == 2 && 1 % iteration`: {skipped: true, warning: true},
	} {
		b := newFixture(t, plan.Hook{Action: plan.ActionPause, Condition: text}, nil)
		e := b.caller.Call(t.Context(), b.job)
		d, err := event.Decode[event.HookSkippedData](e)
		if err != nil || (e.Type == event.HookSkipped) != want.skipped || d.Warning != want.warning || e.Volatile != want.skipped {
			t.Errorf("%s: %s %+v %v", text, e.Type, d, err)
		}
	}
}

// An approval counts for the shown files: if they have changed, the question is asked again.
func TestApprovalIsBound(t *testing.T) {
	b := newFixture(t, plan.Hook{Action: plan.ActionConfirm, Message: "Good?", Supervise: true}, nil)
	b.caller.Plan.Nodes[0].OutputPath = "docs/${SESSION}.md"
	file := filepath.Join(b.caller.Project.Path(), "docs", "demo.md")
	testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("the plan"), 0o644)))
	ask := func() event.QuestionAskedData {
		e := b.caller.Call(t.Context(), b.job)
		d, err := event.Decode[event.QuestionAskedData](e)
		if err != nil || e.Type != event.QuestionAsked {
			t.Fatalf("%s %v", e.Type, err)
		}
		return d
	}
	q := ask()
	if q.Kind != event.QuestionSupervise || !q.AcceptFeedback || q.Preview != "the plan" || len(q.Shown) != 2 || q.Shown[0].Path != file || q.Changed {
		t.Errorf("%+v", q)
	}
	answer := func(word, text string) {
		b.job.State.Questions = map[string]state.Question{q.ID: {
			Kind: q.Kind, Digest: q.Digest, QuestionText: state.QuestionText{Shown: q.Shown}, Answer: &state.Answer{Option: word, Text: text, By: "ada"},
		}}
	}
	answer(event.AnswerApprove, "")
	if d := b.end(t, event.HookComplete); d.Answer != "continue" || d.Reason != "approve by ada" || d.Question != q.ID {
		t.Errorf("%+v", d)
	}
	answer(event.AnswerReject, "shorter")
	d := b.end(t, event.HookComplete)
	text, err := b.caller.Dir.ReadRef(*d.Context)
	if err != nil || d.Answer != "restart_stage" || !strings.Contains(string(text), "Feedback of ada") || !strings.Contains(string(text), "shorter") || !strings.Contains(string(text), file) {
		t.Errorf("%+v, %q, %v", d, text, err)
	}
	testkit.OK(t, os.WriteFile(file, []byte("the Plan"), 0o644))
	answer(event.AnswerApprove, "")
	if again := ask(); !again.Changed || again.Digest == q.Digest || again.ID != q.ID || again.Preview != "the Plan" {
		t.Errorf("%+v", again)
	}
}

// A panic of a callback is an error, and so is a missing callback.
func TestCallbacks(t *testing.T) {
	b := newFixture(t, plan.Hook{Action: "act"}, nil)
	b.job.Command.Hook = schedule.CallbackNumber(0)
	b.job.Command.Key = b.job.Command.Location.Key(event.KeyHook, b.job.Command.Hook)
	if d := b.end(t, event.HookComplete); d.Answer != "continue" || !strings.Contains(d.Failure.Message, "no callback 0") {
		t.Errorf("%+v", d)
	}
	b.caller.Callbacks = []Callback{{Call: func(context.Context, CallbackRequest) sdk.HookAnswer { panic(errors.New("oh")) }}}
	b.caller.OnError = plan.FallbackPause
	if d := b.end(t, event.HookComplete); d.Answer != "pause" || d.Action != "callback" || !strings.Contains(d.Failure.Message, "panicked: oh") {
		t.Errorf("%+v", d)
	}
	b.caller.Callbacks[0].Call = func(_ context.Context, m CallbackRequest) sdk.HookAnswer {
		return sdk.HookAnswer{Reason: m.Progress + " " + m.State.Session}
	}
	testkit.OK(t, b.caller.Dir.Replace("stage-00-draft/progress.md", []byte("so far")))
	if d := b.end(t, event.HookComplete); d.Reason != "so far demo" {
		t.Errorf("%+v", d)
	}
}

// A hook whose start cannot be recorded does not run.
func TestRefusedStart(t *testing.T) {
	b := newFixture(t, plan.Hook{Action: "act"}, func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
		t.Error("it was called")
		return sdk.HookAnswer{}, nil
	})
	b.job.Record = func(context.Context, event.Event) error { return progress.ErrInvalidTransition }
	if d := b.end(t, event.HookComplete); d.Failure == nil || d.Failure.ErrorType != string(failure.SignalInterrupt) {
		t.Errorf("%+v", d)
	}
}

// U314: what an action measured at the end of a stage becomes a field of the node's artifact, if the contract names it.
func TestMeasuredFields(t *testing.T) {
	for facts, want := range map[string]string{
		`{"artifact":{"url":"https://x"}}`: "",
		`{"artifact":{"url":1}}`:           "url",
		`{"artifact":{"other":"x"}}`:       "it measured other, which artifact.kernel_fields of draft does not name",
	} {
		b := newFixture(t, plan.Hook{Action: "act", OnError: plan.FallbackAbort}, func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
			return sdk.HookAnswer{Facts: json.RawMessage(facts)}, nil
		})
		n := &b.caller.Plan.Nodes[0]
		n.Artifact = &plan.Artifact{Type: "note", KernelFields: map[string]string{"url": "checks.a.reason"}, Schema: json.RawMessage(`{"properties":{"url":{"type":"string"}}}`)}
		a := artifact.Artifact{Meta: artifact.NewMeta(n, time.Now()), Data: map[string]any{"text": "kept"}}
		st := b.job.State.Nodes["0"]
		st.SetArtifact(event.Artifact, testkit.Must(artifact.Write(b.caller.Dir, b.caller.Plan, b.job.Command.Location, a)))
		b.job.State.Nodes["0"] = st
		d := b.end(t, event.HookComplete)
		if want != "" {
			if d.Answer != "abort" || !strings.Contains(d.Reason+d.Failure.Detail, want) || len(b.records) != 1 {
				t.Errorf("%s: %+v", facts, d)
			}
			continue
		}
		written := testkit.Must(event.Decode[event.ArtifactWrittenData](b.records[1]))
		got := testkit.Must(artifact.Load(b.caller.Dir, written.Ref))
		testkit.Equal(t, map[string]any{"text": "kept", "url": "https://x"}, got.Data)
	}
	b := newFixture(t, plan.Hook{Action: "act", OnError: plan.FallbackAbort}, func(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
		return sdk.HookAnswer{Facts: json.RawMessage(`{"artifact":{"url":"x"}}`)}, nil
	})
	if d := b.end(t, event.HookComplete); !strings.Contains(d.Reason, "it measured fields of an artifact, and draft made none") {
		t.Errorf("%+v", d)
	}
}
