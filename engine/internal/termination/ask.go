package termination

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Strategies finds termination strategies by type; the error says what exists.
type Strategies interface {
	Termination(ctx context.Context, name string) (sdk.Termination, error)
}

// Asker asks the strategies of one run. All fields are needed. It is safe for concurrent use.
type Asker struct {
	Plan       *plan.Plan
	Project    *store.Project
	Dir        *store.Dir
	Inputs     *inputs.Reader // of the session
	Strategies Strategies
	Log        hclog.Logger
	// Redactor takes the secrets out of questions and answers. Default: one that knows no values.
	Redactor *redact.Redactor
}

// DecideLimit is how long a strategy may take for one reply.
const DecideLimit = 10 * time.Minute

// Bounds of what strategies are handed and say, in bytes.
const (
	maxAnswer = 4 << 20 // the text of a provider's answer
	maxState  = 8 << 10 // a strategy's own state, which every state of the session carries
)

// Job is one decision to be made, or one question to be put.
type Job struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
	// Record commits an event that happens meanwhile.
	Record func(ctx context.Context, e event.Event) error
}

// Ask asks the node's strategy about the iteration just completed and returns the decision event,
// with the command's key. A strategy whose process dies is asked once more; one that fails is a decision of action error.
func (a *Asker) Ask(ctx context.Context, j Job) event.Event {
	c, n, st := j.Command, j.Node, j.State
	d := event.DecisionData{Strategy: n.Termination.Type(), Round: c.Round}
	if err := a.decide(ctx, j, &d); err != nil {
		f := failure.From(err)
		kind := f.Kind
		if kind == failure.Internal || kind == "" {
			kind = failure.StrategyFailed
		}
		d.Action = string(sdk.DecisionError)
		failed := event.NewFailureData(&failure.Error{
			Kind: kind, Message: fmt.Sprintf("termination strategy %s: %s", d.Strategy, f.Message), Detail: f.Detail, Hint: f.Hint, Cause: err,
		})
		failed.Node, failed.Stage, failed.Iteration = n.ID, n.ID, c.Location.Iteration
		failed.ResumeCommand = "agent-pipelines resume " + st.Session
		d.Failure = &failed
	}
	return event.New(event.Decision, c.Location.Cursor(), c.Key, d)
}

func (a *Asker) decide(ctx context.Context, j Job, d *event.DecisionData) error {
	c, n := j.Command, j.Node
	req, err := a.request(c, n, j.State)
	if err != nil {
		return err
	}
	ctx, cancel := pluginhost.WithCallTimeout(ctx, DecideLimit, failure.New(failure.StrategyFailed, "no decision within %s", DecideLimit))
	defer cancel()
	answer, err := a.askStrategy(ctx, n.Termination.Type(), req)
	if failure.KindOf(err) == failure.ProviderCrashed && ctx.Err() == nil { // all that a strategy knows is in the request
		a.Log.Warn("termination strategy is asked again", "type", n.Termination.Type(), "error", err)
		answer, err = a.askStrategy(ctx, n.Termination.Type(), req)
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
	node, err := store.NodeAt(a.Plan, c.Location)
	if err != nil {
		return err
	}
	it := node.Iteration(c.Location.Iteration)
	if len(answer.Record) > 0 {
		if err := a.Dir.Replace(it.Judge(), append(a.Redactor.ForAgent().JSON(answer.Record), '\n')); err != nil {
			return err
		}
	}
	d.Action, d.Reason = event.Truncate(string(answer.Action), event.MaxName), event.Truncate(answer.Reason, event.MaxReason)
	d.Confidence, d.State = answer.Confidence, answer.State
	if answer.Action == sdk.DecisionAsk {
		return a.question(it, n, answer, c.Round, d)
	}
	if c.Round > 0 {
		a.record(ctx, j, event.JudgeComplete, judged(j.State.LoopAt(c.Location), answer))
	}
	return nil
}

// askStrategy returns the decision of the strategy.
func (a *Asker) askStrategy(ctx context.Context, name string, req sdk.DecideRequest) (sdk.Decision, error) {
	t, err := a.Strategies.Termination(ctx, name)
	if err != nil {
		return sdk.Decision{}, err
	}
	return t.Decide(ctx, req)
}

// judged is the Bash engine's event about a decision that took questions.
func judged(l state.Loop, d sdk.Decision) event.JudgeCompleteData {
	if l.Answer != nil && l.Answer.Error != "" {
		return event.JudgeCompleteData{Status: "failed", Reason: "invoke_failed"}
	}
	if len(d.Record) == 0 && d.Action == sdk.DecisionContinue { // it made nothing of the answer
		return event.JudgeCompleteData{Status: "failed", Reason: event.Truncate(d.Reason, event.MaxReason)}
	}
	complete := event.JudgeCompleteData{Status: "success", Reason: event.Truncate(d.Reason, event.MaxReason)}
	if len(d.Record) <= event.MaxText { // judge.json has all of it
		complete.Result = d.Record
	}
	return complete
}

// record appends an event that only informs.
func (a *Asker) record(ctx context.Context, j Job, t event.Type, data any) {
	if err := j.Record(ctx, event.New(t, j.Command.Location.Cursor(), "", data)); err != nil {
		a.Log.Warn("event not recorded", "type", t, "error", err)
	}
}

// question keeps the prompt of a question in a file, for its size and for the reader.
func (a *Asker) question(it store.Iteration, n *plan.Node, answer sdk.Decision, round int, d *event.DecisionData) error {
	q := answer.Question
	if q == nil {
		return failure.New(failure.StrategyFailed, "it asks without a question")
	}
	ref, err := a.Dir.Write(it.Question(round+1), []byte(a.Redactor.ForAgent().Text(q.Prompt)))
	if err != nil {
		return err
	}
	d.Question = &event.QuestionData{Prompt: ref, Provider: event.Truncate(q.Provider, event.MaxName), Model: event.Truncate(q.Model, event.MaxName)}
	if q.Provider == "" && n.Provider != nil {
		d.Question.Provider, d.Question.Model = n.Provider.Type, n.Provider.Model
	}
	return nil
}

func (a *Asker) request(c schedule.Command, n *plan.Node, st state.State) (sdk.DecideRequest, error) {
	l := st.LoopAt(c.Location)
	config, err := json.Marshal(n.Termination)
	if err != nil {
		return sdk.DecideRequest{}, fmt.Errorf("render the termination's config: %w", err)
	}
	req := sdk.DecideRequest{
		Session: st.Session, Node: n.ID, Stage: n.Ref, Iteration: l.CountedIterations(), Max: n.Termination.Max(),
		Config: config, Hint: l.Hint, History: history(l.Decisions), State: l.Strategy,
		Round: c.Round, WorkDir: a.Project.Path(),
	}
	if l.Result != nil {
		if req.Result, err = a.Dir.ReadRef(*l.Result); err != nil {
			return req, err
		}
	}
	if req.Answer, err = a.answer(l.Answer); err != nil {
		return req, err
	}
	if req.Progress, err = a.progress(c.Location, st); err != nil {
		return req, err
	}
	if req.Checks, err = a.measured(l.Measured); err != nil {
		return req, err
	}
	req.Outputs, err = a.outputs(c.Location, l)
	return req, err
}

// Measured is a check of the node as a strategy receives it.
type Measured struct {
	ID     string          `json:"id"`
	At     string          `json:"at"` // enter or exit
	Passed bool            `json:"passed"`
	Reason string          `json:"reason,omitempty"` // why it did not pass or was left out
	Error  string          `json:"error,omitempty"`  // why nothing could be measured
	Facts  json.RawMessage `json:"facts,omitempty"`  // all that it says
	// LeftOut: nothing was measured, since the plan leaves the check out; it has Passed then, too.
	LeftOut bool `json:"left_out,omitempty"`
}

func (a *Asker) measured(checks []state.Measurement) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, m := range checks {
		c := Measured{ID: m.ID, At: m.At, Passed: m.Passed, Reason: m.Reason, LeftOut: m.Skipped}
		if m.Failure != nil {
			c.Error = m.Failure.Message
		}
		if m.Facts != nil {
			facts, err := a.Dir.ReadRef(*m.Facts)
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

// outputs are those of the iterations that count.
func (a *Asker) outputs(at event.Location, l state.Loop) ([]sdk.FileRef, error) {
	before, err := a.Inputs.Outputs(at, l.Before)
	if err != nil {
		return nil, err
	}
	paths, err := a.Inputs.Outputs(at, l.Completed)
	paths = paths[min(len(before), len(paths)):]
	refs := make([]sdk.FileRef, len(paths))
	for i, p := range paths {
		refs[i] = sdk.FileRef{Path: p}
	}
	return refs, err
}

func (a *Asker) progress(at event.Location, st state.State) (sdk.FileRef, error) {
	find := store.NodeAt
	switch {
	case at.Branch != "":
		find = store.ProviderAt
	case st.Mode == "loop":
		return sdk.FileRef{Path: a.Dir.Abs(store.ProgressFile(st.Session))}, nil
	}
	node, err := find(a.Plan, at)
	if err != nil {
		return sdk.FileRef{}, err
	}
	return sdk.FileRef{Path: a.Dir.Abs(node.Progress())}, nil
}

func (a *Asker) answer(d *event.StrategyAnswerData) (*sdk.Answer, error) {
	if d == nil {
		return nil, nil //nolint:nilnil // no answer yet
	}
	answer := &sdk.Answer{Error: d.Error}
	if d.Answer == nil {
		return answer, nil
	}
	text, err := a.Dir.ReadRef(*d.Answer)
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
