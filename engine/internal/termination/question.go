package termination

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// AnswerLimit is the time limit of a provider for a strategy's question.
const AnswerLimit = 10 * time.Minute

// Put puts the strategy's open question to its provider and returns the strategy_answer event, with the command's
// key. A provider's failure is an answer too: the strategy receives it and decides.
func (a *Asker) Put(ctx context.Context, r kernel.EffectRequest, providers effect.Providers) event.Event {
	k := a.newCall(r)
	if q := k.loop.Question; r.Command.Round == 0 && q != nil {
		k.record(ctx, event.JudgeStart, event.JudgeStartData{Provider: q.Provider, Model: q.Model})
	}
	d := event.StrategyAnswerData{Round: r.Command.Round}
	text, usage, err := k.put(ctx, providers)
	d.Usage = usage
	if err == nil {
		d.Answer, err = k.keepAnswer(text)
	} else if kept := k.keepLog(cmp.Or(text, k.Redactor.Text(failure.From(err).Message)+"\n")); kept != nil {
		k.Log.Warn("cannot store the judge's output", "error", kept)
	}
	if err != nil {
		f := event.NewFailureData(err)
		d.Error, d.ErrorType, d.System = f.Message, f.ErrorType, f.System
		if cause := context.Cause(ctx); cause != nil {
			d.Error = string(failure.KindOf(cause)) // the scheduler asks again after a stop
		}
		k.Log.Warn("the strategy's question was not answered", "error", err)
	}
	return k.Event(event.StrategyAnswer, d)
}

func (k *strategyCall) put(ctx context.Context, providers effect.Providers) (string, *event.Usage, error) {
	c, q := k.Command, k.loop.Question
	if q == nil {
		return "", nil, failure.New(failure.Internal, "there is no question to put")
	}
	prompt, err := k.Dir.ReadRef(q.Prompt)
	if err != nil {
		return "", nil, err
	}
	provider, err := providers.Provider(ctx, q.Provider, k.Node)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := pluginhost.WithCallTimeout(ctx, AnswerLimit, failure.New(failure.ProviderTimeout, "no answer within %s", AnswerLimit))
	defer cancel()
	x := &listener{}
	r, err := provider.Execute(ctx, sdk.ExecuteRequest{
		Key: string(c.Key), Epoch: k.State.Epoch, Session: k.State.Session, Node: k.Node.ID,
		Iteration: c.Location.Iteration, Attempt: 1, Visit: c.Location.Visit, Purpose: sdk.PurposeQuestion,
		Prompt: string(prompt), Model: q.Model, WorkDir: k.Project.Path(), Timeout: AnswerLimit, Budget: k.Budget(),
		Mode: sdk.Mode(k.Plan.EffectivePolicy(k.Node).Mode),
	}, x)
	if err == nil && r.Error != nil {
		err = r.Error
	}
	return k.Redactor.ForAgent().Text(cmp.Or(r.Output, x.text.Text())), (*event.Usage)(cmp.Or(r.Usage, x.usage.Load())), err
}

// keepLog writes only judge.log, for an answer that does not count. text is the answer, or the reason why there is
// none.
func (k *strategyCall) keepLog(text string) error {
	it, err := k.Iteration()
	if err != nil {
		return err
	}
	return k.Dir.Replace(it.JudgeLog(), []byte(text[:min(len(text), maxAnswer)]))
}

// keepAnswer writes the answer to a file for the strategy, and to judge.log for users of the Bash engine. Only the
// beginning of an answer over the limit is kept.
func (k *strategyCall) keepAnswer(text string) (*event.Ref, error) {
	if len(text) > maxAnswer {
		text = strings.ToValidUTF8(text[:maxAnswer], "")
	}
	it, err := k.Iteration()
	if err != nil {
		return nil, err
	}
	if err := k.Dir.Replace(it.JudgeLog(), []byte(text)); err != nil {
		return nil, err
	}
	ref, err := k.Dir.Write(it.Answer(k.Command.Round+1), []byte(text))
	return &ref, err
}

// listener is the exchange of a question: it collects text and usage, and denies all tool calls.
type listener struct {
	text  result.OutputBuffer
	usage atomic.Pointer[sdk.Usage] // as reported last
}

// Usage implements sdk.Exchange.
func (x *listener) Usage(u sdk.Usage) { x.usage.Store(&u) }

// Output implements sdk.Exchange.
func (x *listener) Output(c sdk.OutputChunk) {
	if c.Stream == sdk.StreamText || c.Stream == "" {
		x.text.Add(c.Text)
	}
}

func (x *listener) Call(_ context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	return sdk.Verdict{CallID: c.CallID, Action: sdk.VerdictDeny, Reason: "a question is answered without tools"}, nil
}

func (x *listener) Progress(sdk.Progress)                            {}
func (x *listener) Observe(sdk.ToolCall)                             {}
func (x *listener) ObserveResult(sdk.ToolResult)                     {}
func (x *listener) Result(sdk.ToolResult)                            {}
func (x *listener) Checkpoint(context.Context, sdk.Checkpoint) error { return nil }

var _ sdk.Exchange = (*listener)(nil)
