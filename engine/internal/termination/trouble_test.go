package termination

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// none finds neither strategies nor providers.
type none struct{}

func (none) Termination(context.Context, string, *plan.Node) (sdk.Termination, error) {
	return nil, failure.New(failure.ProviderMissing, "nothing is installed").WithHint("install a plugin")
}

func (none) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return nil, failure.New(failure.ProviderMissing, "nothing is installed")
}

var missing = event.Ref{Path: "stage-00-polish/gone", SHA256: strings.Repeat("0", 64), Size: 1}

// U301: every reason for which a strategy cannot decide is the stage's failure, with its cause.
func TestNoDecision(t *testing.T) {
	stop := func(sdk.DecideRequest) (sdk.Decision, error) {
		return sdk.Decision{Action: sdk.DecisionStop, Record: []byte(`{}`)}, nil
	}
	ask := func(q *sdk.Question) decide {
		return func(sdk.DecideRequest) (sdk.Decision, error) {
			return sdk.Decision{Action: sdk.DecisionAsk, Question: q}, nil
		}
	}
	for _, tt := range []struct {
		name    string
		decide  decide
		prepare func(t *testing.T, b *bench)
		kind    failure.Kind
		want    string
	}{
		{"there is no such strategy", stop, func(_ *testing.T, b *bench) { b.asker.Strategies = none{} }, failure.ProviderMissing, "nothing is installed"},
		{"the result is gone", stop, func(_ *testing.T, b *bench) { b.loop(func(l *state.Loop) { l.Result = &missing }) }, failure.Tampered, missing.Path},
		{"the answer is gone", stop, func(_ *testing.T, b *bench) {
			b.loop(func(l *state.Loop) { l.Answer = &event.StrategyAnswerData{Answer: &missing} })
		}, failure.Tampered, missing.Path},
		{"judge.json is taken", stop, func(t *testing.T, b *bench) {
			testkit.OK(t, os.MkdirAll(filepath.Join(b.it, "judge.json", "x"), 0o755))
		}, failure.StateCorrupt, "judge.json: is a directory"},
		{"it asks nothing", ask(nil), func(*testing.T, *bench) {}, failure.StrategyFailed, "it asks without a question"},
		{"the plan has no such node", stop, func(_ *testing.T, b *bench) { b.job.Command.Location.Node = "9" }, failure.StrategyFailed, "9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.decide)
			tt.prepare(t, b)
			d := b.ask(t)
			if d.Action != "error" || d.Failure == nil || d.Failure.ErrorType != string(tt.kind) || !strings.Contains(d.Failure.Message, tt.want) {
				t.Errorf("decision %+v, failure %+v", d, d.Failure)
			}
		})
	}
}

// A question that names no provider is put to the node's own provider.
func TestQuestionToProviderOfNode(t *testing.T) {
	b := newBench(t, func(sdk.DecideRequest) (sdk.Decision, error) {
		return sdk.Decision{Action: sdk.DecisionAsk, Question: &sdk.Question{Prompt: "?"}}, nil
	})
	d := b.ask(t)
	if d.Question == nil || d.Question.Provider != "claude" || d.Question.Model != "opus" {
		t.Errorf("decision %+v, question %+v", d, d.Question)
	}
}

// A question that cannot be put is answered with the reason, so that the strategy can decide without an answer. A
// journal error of an informative event does not prevent this.
func TestNoAnswer(t *testing.T) {
	for _, tt := range []struct {
		name     string
		question *event.QuestionData
		provider effect.Providers
		want     string
	}{
		{"there is no question", nil, none{}, "there is no question"},
		{"its prompt is gone", &event.QuestionData{Prompt: missing, Provider: "claude"}, none{}, missing.Path},
		{"there is no such provider", &event.QuestionData{Provider: "claude"}, none{}, "nothing is installed"},
		{"the provider says that it failed", &event.QuestionData{Provider: "claude"}, answers{
			result: sdk.ExecuteResult{Error: failure.New(failure.ProviderFailed, "overloaded")}, got: &sdk.ExecuteRequest{},
		}, "overloaded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil)
			b.job.Record = func(context.Context, event.Event) error { return errors.New("disk full") }
			if tt.question != nil && tt.question.Prompt == (event.Ref{}) {
				ref := testkit.Must(b.asker.Dir.Write("question", []byte("?")))
				tt.question.Prompt = ref
			}
			b.loop(func(l *state.Loop) { l.Question = tt.question })
			d, err := event.Decode[event.StrategyAnswerData](b.asker.Put(t.Context(), b.job, tt.provider))
			if err != nil || d.Answer != nil || !strings.Contains(d.Error, tt.want) {
				t.Errorf("answer %+v, %v", d, err)
			}
		})
	}
}

// counting is a provider that reports usage while it runs, and none in its result.
type counting struct{ answers }

func (c counting) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return c, nil
}

func (counting) Execute(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	first, last := int64(3), int64(8)
	x.Usage(sdk.Usage{OutputTokens: &first})
	x.Progress(sdk.Progress{Message: "thinking"})
	x.Observe(sdk.ToolCall{CallID: "1"})
	x.ObserveResult(sdk.ToolResult{CallID: "1"})
	x.Output(sdk.OutputChunk{Stream: sdk.StreamStderr, Text: "noise"})
	x.Output(sdk.OutputChunk{Text: "spoken"})
	x.Usage(sdk.Usage{OutputTokens: &last})
	return sdk.ExecuteResult{}, x.Checkpoint(ctx, sdk.Checkpoint{})
}

// The last usage that a provider reports while it runs counts if its result has none.
func TestUsageReportsOfAnswer(t *testing.T) {
	b := newBench(t, nil)
	ref := testkit.Must(b.asker.Dir.Write("question", []byte("?")))
	b.loop(func(l *state.Loop) { l.Question = &event.QuestionData{Prompt: ref, Provider: "claude"} })
	d, err := event.Decode[event.StrategyAnswerData](b.asker.Put(t.Context(), b.job, counting{}))
	if err != nil || d.Answer == nil {
		t.Fatalf("answer %+v, %v", d, err)
	}
	text, err := b.asker.Dir.ReadRef(*d.Answer)
	if err != nil || string(text) != "spoken" {
		t.Errorf("answer %q, %v", text, err)
	}
	testkit.Equal(t, int64(8), *d.Usage.OutputTokens)
}
