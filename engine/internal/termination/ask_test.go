package termination

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

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// decide is a strategy that returns the decision of a test.
type decide func(sdk.DecideRequest) (sdk.Decision, error)

func (d decide) Describe() sdk.Component { return sdk.Component{Name: "decide"} }

func (d decide) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) { return d(req) }

func (d decide) Termination(context.Context, string, *plan.Node) (sdk.Termination, error) {
	return d, nil
}

// answers is a provider that gives the same result for every question.
type answers struct {
	result sdk.ExecuteResult
	err    error
	got    *sdk.ExecuteRequest
}

func (a answers) Describe() sdk.Component { return sdk.Component{Name: "answers"} }

func (a answers) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	*a.got = req
	v, err := x.Call(ctx, sdk.ToolCall{CallID: "1", Tool: "write"})
	if err != nil || v.Action != sdk.VerdictDeny {
		return sdk.ExecuteResult{}, errors.New("a question was given a tool")
	}
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "spoken"})
	return a.result, a.err
}

func (a answers) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return a, nil
}

type bench struct {
	asker  *Asker
	job    kernel.EffectRequest
	events []event.Event
	it     string // the iteration's directory on disk
}

func newBench(t *testing.T, d decide) *bench {
	t.Helper()
	root := t.TempDir()
	project, dir := testkit.Session(t, root, "demo")
	p := &plan.Plan{Nodes: []plan.Node{{
		Path: "0", ID: "polish", Kind: plan.KindStage, Ref: "polisher",
		Termination: plan.Termination{"type": "decide", "max": 5, "consensus": 2}, Provider: &plan.Provider{Type: "claude", Model: "opus"},
	}}}
	result := testkit.Must(dir.Write("stage-00-polish/iterations/001/result.json", []byte(`{"summary":"s"}`)))
	testkit.Must(dir.Write("stage-00-polish/iterations/001/output.md", []byte("said\n")))
	at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}
	b := &bench{it: filepath.Join(dir.Path(), "stage-00-polish/iterations/001")}
	b.asker = &Asker{Env: &effect.Env{Plan: p, Project: project, Dir: dir, Inputs: inputs.NewReader(dir, p), Log: hclog.NewNullLogger()}, Strategies: d}
	b.job = kernel.EffectRequest{
		Node: &p.Nodes[0], Command: schedule.Command{Kind: schedule.Strategy, Key: at.Key(event.KeyDecide, 1), Location: at},
		Record: func(_ context.Context, e event.Event) error { b.events = append(b.events, e); return nil },
		State: state.State{Identity: state.Identity{Session: "demo", Mode: "pipeline"}, Epoch: 1, Position: state.Position{Nodes: map[string]state.Node{"0": {
			NodeProgress: state.NodeProgress{Visit: 1, Run: 1},
			NodeLoops: state.NodeLoops{Loop: state.Loop{
				Progress: state.Progress{Iteration: 1, Completed: 1}, LastIteration: state.LastIteration{Hint: "continue", Result: &result}, StrategyState: state.StrategyState{
					Strategy:  json.RawMessage(`{"n":1}`),
					Decisions: []state.Decision{{Iteration: 0, Hint: "stop", Action: "continue"}},
				},
			}},
		}}}},
	}
	return b
}

func (b *bench) loop(change func(*state.Loop)) {
	n := b.job.State.Nodes["0"]
	change(&n.Loop)
	b.job.State.Nodes["0"] = n
}

func (b *bench) ask(t *testing.T) event.DecisionData {
	t.Helper()
	e := b.asker.Ask(t.Context(), b.job)
	if e.Type != event.Decision || e.Key != b.job.Command.Key {
		t.Fatalf("event %s %s", e.Type, e.Key)
	}
	return testkit.Must(event.Decode[event.DecisionData](e))
}

// The request has all data that a strategy may inspect.
func TestAskSendsAllData(t *testing.T) {
	var got sdk.DecideRequest
	b := newBench(t, func(req sdk.DecideRequest) (sdk.Decision, error) {
		got = req
		return sdk.Decision{Action: sdk.DecisionStop, Reason: "flat", Confidence: 0.5, State: json.RawMessage(`{"n":2}`), Record: json.RawMessage(`{"stop":true}`)}, nil
	})
	d := b.ask(t)
	testkit.Equal(t, event.DecisionData{Strategy: "decide", Action: "stop", Reason: "flat", Confidence: 0.5, State: json.RawMessage(`{"n":2}`)}, d)
	want := sdk.DecideRequest{
		Session: "demo", Node: "polish", Stage: "polisher", Iteration: 1, Max: 5, Hint: "continue",
		Config: json.RawMessage(`{"consensus":2,"max":5,"type":"decide"}`), Result: json.RawMessage(`{"summary":"s"}`), State: json.RawMessage(`{"n":1}`),
		History:  []sdk.PastDecision{{Iteration: 0, Hint: "stop", Action: "continue"}},
		Outputs:  []sdk.FileRef{{Path: filepath.Join(b.it, "output.md")}},
		Progress: sdk.FileRef{Path: filepath.Join(b.it, "../../progress.md")}, WorkDir: b.asker.Project.Path(),
	}
	testkit.Equal(t, want, got)
	testkit.Equal(t, "{\"stop\":true}\n", string(testkit.Must(os.ReadFile(filepath.Join(b.it, "judge.json")))))
}

// The failure of a strategy is a decision of action error.
func TestAskTurnsErrorsIntoDecisions(t *testing.T) {
	tests := []struct {
		name string
		err  error
		kind string
	}{
		{"any error", errors.New("boom"), "strategy_failed"},
		{"its own kind", failure.New(failure.JudgeError, "three times"), "judge_error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(sdk.DecideRequest) (sdk.Decision, error) { return sdk.Decision{}, tt.err })
			d := b.ask(t)
			if d.Action != "error" || d.Failure == nil || d.Failure.ErrorType != tt.kind || d.Failure.ResumeCommand == "" {
				t.Errorf("decision %+v, failure %+v", d, d.Failure)
			}
		})
	}
}

// A strategy whose process dies is asked once more, but not a third time.
func TestStrategyCrashIsRetried(t *testing.T) {
	for dies, want := range []string{"stop", "stop", "error"} {
		asked := 0
		b := newBench(t, func(_ sdk.DecideRequest) (sdk.Decision, error) {
			if asked++; asked <= dies {
				return sdk.Decision{}, failure.New(failure.ProviderCrashed, "killed")
			}
			return sdk.Decision{Action: sdk.DecisionStop, Reason: "flat"}, nil
		})
		d := b.ask(t)
		if d.Action != want || asked != min(dies+1, 2) {
			t.Errorf("dies %d times: asked %d times, decision %+v, failure %+v", dies, asked, d, d.Failure)
		}
	}
}

// U274, U277: a question goes to a file and to a provider; the answer comes back in the next round.
func TestQuestionAndAnswer(t *testing.T) {
	b := newBench(t, func(req sdk.DecideRequest) (sdk.Decision, error) {
		if req.Answer == nil {
			return sdk.Decision{Action: sdk.DecisionAsk, Question: &sdk.Question{Prompt: "is it flat?", Provider: "claude", Model: "haiku"}}, nil
		}
		return sdk.Decision{Action: sdk.DecisionStop, Reason: req.Answer.Output, Record: json.RawMessage(`{"stop":true}`)}, nil
	})
	d := b.ask(t)
	if d.Question == nil || d.Question.Model != "haiku" {
		t.Fatalf("decision %+v", d)
	}
	narrow, wide := 0.5, 2.0
	b.loop(func(l *state.Loop) {
		l.Question, l.Reserved = d.Question, map[string]state.Amount{"": {USD: &wide}, "0": {USD: &narrow}}
	})
	var got sdk.ExecuteRequest
	e := b.asker.Put(t.Context(), b.job, answers{result: sdk.ExecuteResult{Output: "yes"}, got: &got})
	answer, err := event.Decode[event.StrategyAnswerData](e)
	if err != nil || e.Type != event.StrategyAnswer || answer.Error != "" || answer.Answer == nil {
		t.Fatalf("%s %+v %v", e.Type, answer, err)
	}
	if got.Prompt != "is it flat?" || got.Model != "haiku" || got.Purpose != sdk.PurposeQuestion || got.Timeout != AnswerLimit || got.Budget == nil || *got.Budget.MaxUSD != narrow {
		t.Errorf("request %+v", got)
	}
	b.loop(func(l *state.Loop) { l.Answer, l.Round = &answer, 1 })
	b.job.Command.Round = 1
	if d := b.ask(t); d.Action != "stop" || d.Reason != "yes" {
		t.Errorf("decision %+v", d)
	}
	var types []event.Type
	for _, e := range b.events {
		types = append(types, e.Type)
	}
	testkit.Equal(t, []event.Type{event.JudgeStart, event.JudgeComplete}, types)
}

// The failure of a provider is an answer, too; the answer of a stopped provider names the kind of the stop.
func TestQuestionWithoutAnswer(t *testing.T) {
	b := newBench(t, nil)
	ref, err := b.asker.Dir.Write("question", []byte("?"))
	testkit.OK(t, err)
	b.loop(func(l *state.Loop) { l.Question = &event.QuestionData{Prompt: ref, Provider: "claude"} })
	var got sdk.ExecuteRequest
	for _, tt := range []struct {
		name  string
		cause error
		want  string
	}{{"it fails", nil, "no network"}, {"it is stopped", failure.New(failure.Aborted, "stop"), "aborted"}} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.cause != nil {
				cancel(tt.cause)
			}
			e := b.asker.Put(ctx, b.job, answers{err: failure.New(failure.ProviderFailed, "no network"), got: &got})
			if d, err := event.Decode[event.StrategyAnswerData](e); err != nil || d.Error != tt.want {
				t.Errorf("answer %+v, %v", d, err)
			}
			// BASH-BEHAVIOUR 4.8: judge.log has the output of the last attempt, even if it is empty.
			testkit.Equal(t, "spoken", string(testkit.Must(os.ReadFile(filepath.Join(b.it, "judge.log")))))
		})
	}
}

// If the strategy cannot use the judge's answer, the status of judge_complete is failed.
func TestUnusableJudgeAnswer(t *testing.T) {
	b := newBench(t, func(sdk.DecideRequest) (sdk.Decision, error) {
		return sdk.Decision{Action: sdk.DecisionContinue, Reason: "invalid_json"}, nil
	})
	b.loop(func(l *state.Loop) { l.Answer, l.Round = &event.StrategyAnswerData{}, 1 })
	b.job.Command.Round = 1
	b.ask(t)
	if len(b.events) != 1 || b.events[0].Type != event.JudgeComplete {
		t.Fatalf("events %+v", b.events)
	}
	want := event.JudgeCompleteData{Status: "failed", Reason: "invalid_json"}
	if got, err := event.Decode[event.JudgeCompleteData](b.events[0]); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(b.it, "judge.json")); err == nil {
		t.Error("there is a judge.json without a verdict")
	}
}

// U223: the events of every strategy fit into a line of the journal, and their reasons are bounded.
func TestLongWordsFit(t *testing.T) {
	long := strings.Repeat("<\x00", 40<<10)
	record := testkit.Must(json.Marshal(long))
	tests := []struct {
		name   string
		answer sdk.Decision
		err    error
		action string
	}{
		{"reason and record", sdk.Decision{Action: sdk.DecisionStop, Reason: long, Record: record}, nil, "stop"},
		{"failure", sdk.Decision{}, failure.New(failure.StrategyFailed, "%s", long).WithDetail(long).WithHint("%s", long), "error"},
		{"state", sdk.Decision{Action: sdk.DecisionContinue, State: record}, nil, "error"},
		{"question", sdk.Decision{Action: sdk.DecisionAsk, Question: &sdk.Question{Prompt: long, Provider: long, Model: long}}, nil, "ask"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(sdk.DecideRequest) (sdk.Decision, error) { return tt.answer, tt.err })
			b.job.Command.Round = 1 // judge_complete is recorded, too
			e := b.asker.Ask(t.Context(), b.job)
			if d, err := event.Decode[event.DecisionData](e); err != nil || d.Action != tt.action || len(d.Reason) > event.MaxReason {
				t.Errorf("decision %.200s, %v", e.Data, err)
			}
			for _, e := range append(b.events, e) {
				if _, err := e.AppendLine(nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// An answer is passed to the strategy up to a limit.
func TestLongAnswer(t *testing.T) {
	var got string
	b := newBench(t, func(req sdk.DecideRequest) (sdk.Decision, error) {
		got = req.Answer.Output
		return sdk.Decision{Action: sdk.DecisionStop}, nil
	})
	ref := testkit.Must(b.asker.Dir.Write("question", []byte("?")))
	b.loop(func(l *state.Loop) { l.Question = &event.QuestionData{Prompt: ref, Provider: "claude"} })
	tokens := int64(7)
	result := sdk.ExecuteResult{Output: strings.Repeat("x", maxAnswer+1), Usage: &sdk.Usage{OutputTokens: &tokens}}
	d := testkit.Must(event.Decode[event.StrategyAnswerData](b.asker.Put(t.Context(), b.job, answers{result: result, got: &sdk.ExecuteRequest{}})))
	testkit.Equal(t, &event.Usage{OutputTokens: &tokens}, d.Usage)
	b.loop(func(l *state.Loop) { l.Answer, l.Round = &d, 1 })
	if b.ask(t); len(got) != maxAnswer {
		t.Errorf("the strategy was handed %d bytes, want %d", len(got), maxAnswer)
	}
}

// hanging is a strategy that never answers.
type hanging struct{}

func (hanging) Describe() sdk.Component { return sdk.Component{Name: "hanging"} }

func (hanging) Decide(ctx context.Context, _ sdk.DecideRequest) (sdk.Decision, error) {
	<-ctx.Done()
	return sdk.Decision{}, ctx.Err()
}

func (h hanging) Termination(context.Context, string, *plan.Node) (sdk.Termination, error) {
	return h, nil
}

// A strategy that hangs fails, so that an unattended run does not wait without end.
func TestDecideHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.asker.Strategies = hanging{}
		began := time.Now()
		d := b.ask(t)
		if d.Failure == nil || d.Failure.ErrorType != string(failure.StrategyFailed) || time.Since(began) != DecideLimit {
			t.Errorf("decision %+v after %s", d, time.Since(began))
		}
	})
}
