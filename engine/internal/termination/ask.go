package termination

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Strategies finds termination strategies by type, as a node configures them; the error lists the existing types.
type Strategies interface {
	Termination(ctx context.Context, name string, n *plan.Node) (sdk.Termination, error)
}

// Asker asks the strategies of one run. All fields are needed. It is safe for concurrent use.
type Asker struct {
	*effect.Env
	Strategies Strategies
}

// DecideLimit is the time limit of a strategy for one reply.
const DecideLimit = 10 * time.Minute

// These constants bound the data that strategies receive and return, in bytes.
const (
	maxAnswer = 4 << 20 // the text of a provider's answer
	maxState  = 8 << 10 // a strategy's own state, which every state of the session carries
)

// strategyCall is one decision of a strategy, or one question that it puts.
type strategyCall struct {
	*effect.Effect
	loop       state.Loop
	strategies Strategies
}

func (a *Asker) newCall(r kernel.EffectRequest) *strategyCall {
	e := a.New("strategy", r)
	return &strategyCall{Effect: e, loop: e.Loop(), strategies: a.Strategies}
}

// Ask asks the node's strategy about the iteration just completed and returns the decision event, with the command's
// key. A strategy whose process dies is asked once more; a failure is a decision of action error.
func (a *Asker) Ask(ctx context.Context, r kernel.EffectRequest) event.Event {
	k, d := a.newCall(r), event.DecisionData{Strategy: r.Node.Termination.Type(), Round: r.Command.Round}
	if err := k.decide(ctx, &d); err != nil {
		f := failure.From(err)
		kind := f.Kind
		if kind == failure.Internal || kind == "" {
			kind = failure.StrategyFailed
		}
		d.Action = string(sdk.DecisionError)
		d.Failure = k.Failure(&failure.Error{
			Kind: kind, Message: fmt.Sprintf("termination strategy %s: %s", d.Strategy, f.Message), Detail: f.Detail, Hint: f.Hint, Cause: err,
		}, 0)
	}
	return k.Event(event.Decision, d)
}

func (k *strategyCall) decide(ctx context.Context, d *event.DecisionData) error {
	req, err := k.request()
	if err != nil {
		return err
	}
	ctx, cancel := pluginhost.WithCallTimeout(ctx, DecideLimit, failure.New(failure.StrategyFailed, "no decision within %s", DecideLimit))
	defer cancel()
	answer, err := k.askStrategy(ctx, req)
	if failure.KindOf(err) == failure.ProviderCrashed && ctx.Err() == nil { // all that a strategy knows is in the request
		k.Log.Warn("termination strategy is asked again", "type", d.Strategy, "error", err)
		answer, err = k.askStrategy(ctx, req)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	if len(answer.State) > maxState {
		return failure.New(failure.StrategyFailed, "its state has %d bytes, at most %d are kept", len(answer.State), maxState).
			WithHint("write large data to a file and keep its name in the state")
	}
	it, err := k.Iteration()
	if err != nil {
		return err
	}
	if len(answer.Record) > 0 {
		if err := k.Dir.Replace(it.Judge(), append(k.Redactor.ForAgent().JSON(answer.Record), '\n')); err != nil {
			return err
		}
	}
	d.Action, d.Reason = event.Truncate(string(answer.Action), event.MaxName), event.Truncate(answer.Reason, event.MaxReason)
	d.Confidence, d.State = answer.Confidence, answer.State
	if answer.Action == sdk.DecisionAsk {
		d.Question, err = k.question(it, answer.Question)
		return err
	}
	if k.Command.Round > 0 {
		k.record(ctx, event.JudgeComplete, judged(k.loop, answer))
	}
	return nil
}

// askStrategy returns the decision of the strategy.
func (k *strategyCall) askStrategy(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	t, err := k.strategies.Termination(ctx, k.Node.Termination.Type(), k.Node)
	if err != nil {
		return sdk.Decision{}, err
	}
	return t.Decide(ctx, req)
}

// judged returns the data of judge_complete, the Bash engine's event about a decision that took questions.
func judged(l state.Loop, d sdk.Decision) event.JudgeCompleteData {
	if l.Answer != nil && l.Answer.Error != "" {
		return event.JudgeCompleteData{Status: "failed", Reason: "invoke_failed"}
	}
	if len(d.Record) == 0 && d.Action == sdk.DecisionContinue { // the strategy could not use the answer
		return event.JudgeCompleteData{Status: "failed", Reason: event.Truncate(d.Reason, event.MaxReason)}
	}
	complete := event.JudgeCompleteData{Status: "success", Reason: event.Truncate(d.Reason, event.MaxReason)}
	if len(d.Record) <= event.MaxText { // judge.json has the whole record
		complete.Result = d.Record
	}
	return complete
}

// record records an event that only informs. The event belongs to the iteration, not to the command.
func (k *strategyCall) record(ctx context.Context, t event.Type, data any) {
	about := k.Event(t, data)
	about.Key = ""
	k.RecordInfo(ctx, about)
}

// question writes the prompt of a question to a file, because the prompt may be long and users may read it.
func (k *strategyCall) question(it store.Iteration, q *sdk.Question) (*event.QuestionData, error) {
	if q == nil {
		return nil, failure.New(failure.StrategyFailed, "it asks without a question")
	}
	ref, err := k.Dir.Write(it.Question(k.Command.Round+1), []byte(k.Redactor.ForAgent().Text(q.Prompt)))
	if err != nil {
		return nil, err
	}
	d := &event.QuestionData{Prompt: ref, Provider: event.Truncate(q.Provider, event.MaxName), Model: event.Truncate(q.Model, event.MaxName)}
	if q.Provider == "" && k.Node.Provider != nil {
		d.Provider, d.Model = k.Node.Provider.Type, k.Node.Provider.Model
	}
	return d, nil
}

func (k *strategyCall) request() (sdk.DecideRequest, error) {
	l, n := k.loop, k.Node
	config, err := json.Marshal(n.Termination)
	if err != nil {
		return sdk.DecideRequest{}, fmt.Errorf("render the termination's config: %w", err)
	}
	req := sdk.DecideRequest{
		Session: k.State.Session, Node: n.ID, Stage: n.Ref, Iteration: l.CountedIterations(), Max: n.Termination.Max(),
		Config: config, Hint: l.Hint, History: history(l.Decisions), State: l.Strategy,
		Round: k.Command.Round, WorkDir: k.Project.Path(),
	}
	if l.Result != nil {
		if req.Result, err = k.Dir.ReadRef(*l.Result); err != nil {
			return req, err
		}
	}
	if req.Answer, err = k.answer(l.Answer); err != nil {
		return req, err
	}
	progress, err := k.ProgressFile()
	if err != nil {
		return req, err
	}
	req.Progress.Path = k.Dir.Abs(progress)
	if req.Checks, err = k.measured(l.Measured); err != nil {
		return req, err
	}
	req.Outputs, err = k.outputs()
	return req, err
}

// MeasuredCheck is a check of the node as a strategy receives it.
type MeasuredCheck struct {
	ID     string          `json:"id"`
	At     string          `json:"at"` // enter or exit
	Passed bool            `json:"passed"`
	Reason string          `json:"reason,omitempty"` // why it did not pass or was left out
	Error  string          `json:"error,omitempty"`  // why nothing could be measured
	Facts  json.RawMessage `json:"facts,omitempty"`  // the content of the facts file
	// LeftOut reports whether the plan leaves the check out, so that nothing was measured. Then Passed is true, too.
	LeftOut bool `json:"left_out,omitempty"`
}

func (k *strategyCall) measured(checks []state.Measurement) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, m := range checks {
		c := MeasuredCheck{ID: m.ID, At: m.At, Passed: m.Passed, Reason: m.Reason, LeftOut: m.Skipped}
		if m.Failure != nil {
			c.Error = m.Failure.Message
		}
		if m.Facts != nil {
			facts, err := k.Dir.ReadRef(*m.Facts)
			if err != nil {
				return nil, err
			}
			c.Facts = facts
		}
		raw, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("render the check %s: %w", m.ID, err)
		}
		all = append(all, raw)
	}
	return all, nil
}

// outputs returns the outputs of the iterations since the last stage retry.
func (k *strategyCall) outputs() ([]sdk.FileRef, error) {
	before, err := k.Inputs.Outputs(k.Command.Location, k.loop.Before)
	if err != nil {
		return nil, err
	}
	paths, err := k.Inputs.Outputs(k.Command.Location, k.loop.Completed)
	paths = paths[min(len(before), len(paths)):]
	refs := make([]sdk.FileRef, len(paths))
	for i, p := range paths {
		refs[i] = sdk.FileRef{Path: p}
	}
	return refs, err
}

func (k *strategyCall) answer(d *event.StrategyAnswerData) (*sdk.Answer, error) {
	if d == nil {
		return nil, nil //nolint:nilnil // no answer yet
	}
	answer := &sdk.Answer{Error: d.Error}
	if d.Answer == nil {
		return answer, nil
	}
	text, err := k.Dir.ReadRef(*d.Answer)
	answer.Output = string(text)
	return answer, err
}

func history(decisions []state.Decision) []sdk.PastDecision {
	past := make([]sdk.PastDecision, len(decisions))
	for i, d := range decisions {
		past[i] = sdk.PastDecision{Iteration: d.Iteration, Hint: d.Hint, Action: sdk.DecisionAction(d.Action), Reason: d.Reason}
	}
	return past
}
