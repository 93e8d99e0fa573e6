package termination

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// AnswerLimit is how long a provider may take for a strategy's question.
const AnswerLimit = 10 * time.Minute

// Providers finds providers by name; the error says what exists.
type Providers interface {
	Provider(ctx context.Context, name string) (sdk.Provider, error)
}

// Put puts the strategy's open question to its provider and returns the strategy_answer event, with the command's
// key. A provider's failure is an answer too: the strategy receives it and decides.
func (a *Asker) Put(ctx context.Context, j Job, providers Providers) event.Event {
	c, q := j.Command, j.State.LoopAt(j.Command.Location).Question
	if c.Round == 0 && q != nil {
		a.record(ctx, j, event.JudgeStart, event.JudgeStartData{Provider: q.Provider, Model: q.Model})
	}
	d := event.StrategyAnswerData{Round: c.Round}
	text, usage, err := a.put(ctx, j, providers)
	d.Usage = usage
	if err == nil {
		d.Answer, err = a.keepAnswer(c, text)
	} else if kept := a.keepLog(c, cmp.Or(text, a.Redactor.Text(failure.From(err).Message)+"\n")); kept != nil {
		a.Log.Warn("cannot store the judge's output", "session", j.State.Session, "error", kept)
	}
	if err != nil {
		d.Error, d.ErrorType = event.Truncate(failure.From(err).Message, event.MaxText), string(failure.KindOf(err))
		_, d.System = failure.SystemHint(err)
		if cause := context.Cause(ctx); cause != nil {
			d.Error = string(failure.KindOf(cause)) // the scheduler asks again after a stop
		}
		a.Log.Warn("the strategy's question was not answered", "session", j.State.Session, "error", err)
	}
	return event.New(event.StrategyAnswer, c.Location.Cursor(), c.Key, d)
}

func (a *Asker) put(ctx context.Context, j Job, providers Providers) (string, *event.Usage, error) {
	c, st := j.Command, j.State
	l := st.LoopAt(c.Location)
	if l.Question == nil {
		return "", nil, failure.New(failure.Internal, "there is no question to put")
	}
	prompt, err := a.Dir.ReadRef(l.Question.Prompt)
	if err != nil {
		return "", nil, err
	}
	provider, err := providers.Provider(ctx, l.Question.Provider)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := pluginhost.WithCallTimeout(ctx, AnswerLimit, failure.New(failure.ProviderTimeout, "no answer within %s", AnswerLimit))
	defer cancel()
	x := &listener{}
	r, err := provider.Execute(ctx, sdk.ExecuteRequest{
		Key: string(c.Key), Epoch: st.Epoch, Session: st.Session, Node: j.Node.ID,
		Iteration: c.Location.Iteration, Attempt: 1, Visit: c.Location.Visit, Purpose: sdk.PurposeQuestion,
		Prompt: string(prompt), Model: l.Question.Model, WorkDir: a.Project.Path(), Timeout: AnswerLimit, Budget: budget(l),
		Mode: sdk.Mode(a.Plan.EffectivePolicy(j.Node).Mode),
	}, x)
	if err == nil && r.Error != nil {
		err = r.Error
	}
	return a.Redactor.ForAgent().Text(cmp.Or(r.Output, x.text())), (*event.Usage)(cmp.Or(r.Usage, x.used())), err
}

// budget returns the budget of the question.
func budget(l state.Loop) *sdk.Budget {
	part := l.Allowance()
	if part == nil {
		return nil
	}
	return &sdk.Budget{MaxUSD: part.USD, MaxTokens: part.Tokens}
}

// keepLog writes judge.log alone, of an answer that counts for nothing: what there is of it, or why there is
// none.
func (a *Asker) keepLog(c schedule.Command, text string) error {
	node, err := store.NodeAt(a.Plan, c.Location)
	if err != nil {
		return err
	}
	return a.Dir.Replace(node.Iteration(c.Location.Iteration).JudgeLog(), []byte(text[:min(len(text), maxAnswer)]))
}

// keepAnswer writes the answer for the strategy, and as judge.log, where the Bash engine's users
// look for it. Of an answer over the limit the beginning is kept.
func (a *Asker) keepAnswer(c schedule.Command, text string) (*event.Ref, error) {
	if len(text) > maxAnswer {
		text = strings.ToValidUTF8(text[:maxAnswer], "")
	}
	node, err := store.NodeAt(a.Plan, c.Location)
	if err != nil {
		return nil, err
	}
	it := node.Iteration(c.Location.Iteration)
	if err := a.Dir.Replace(it.JudgeLog(), []byte(text)); err != nil {
		return nil, err
	}
	ref, err := a.Dir.Write(it.Answer(c.Round+1), []byte(text))
	return &ref, err
}

// listener is the exchange of a question: it collects text and use, and lets no tool be used.
type listener struct {
	mu    sync.Mutex // guards:
	out   strings.Builder
	usage *sdk.Usage // as reported last
}

func (x *listener) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

func (x *listener) used() *sdk.Usage {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.usage
}

// Usage implements sdk.Exchange.
func (x *listener) Usage(u sdk.Usage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.usage = &u
}

// Output implements sdk.Exchange.
func (x *listener) Output(c sdk.OutputChunk) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if (c.Stream == sdk.StreamText || c.Stream == "") && x.out.Len() < maxAnswer {
		x.out.WriteString(c.Text)
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
