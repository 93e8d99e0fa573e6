package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of what an action answers, in bytes.
const (
	maxContext = 1 << 20  // text for the agent
	maxFacts   = 16 << 10 // in the journal
)

var answers = []sdk.Action{sdk.ActionContinue, sdk.ActionPause, sdk.ActionAbort, sdk.ActionRestartStage, sdk.ActionModifyContext}

// complete is the end of a hook that answered.
func (k *call) complete(a sdk.HookAnswer) event.Event {
	a.Action = cmp.Or(a.Action, sdk.ActionContinue)
	if err := k.legal(a); err != nil {
		return k.failed(err)
	}
	a = k.telling(a)
	d := k.data(string(a.Action), a.Reason)
	k.possible(&d)
	if a.Context != "" && (a.Action == sdk.ActionModifyContext || a.Action == sdk.ActionRestartStage) {
		ref, err := k.Dir.Write(store.HookText(k.Command.Key, string(k.point)), []byte(k.Redactor.Agent().Text(a.Context)))
		if err != nil {
			return k.failed(err)
		}
		d.Context = &ref
	}
	if q, asked := k.State.Questions[event.QuestionID(k.Command.Key)]; asked && q.Answer != nil {
		d.Question = event.QuestionID(k.Command.Key)
	}
	if d.Facts, d.Outcome = a.Facts, a.Outcome; d.Outcome != "" {
		d.Failure = k.notPassed(a)
	}
	return k.event(event.HookComplete, d)
}

// telling is the answer of a check that did not pass where that fails no stage: the agents that come next are told.
func (k *call) telling(a sdk.HookAnswer) sdk.HookAnswer {
	if a.Outcome == "" || a.Action != sdk.ActionContinue || k.point == plan.PointStageEnd || k.point == plan.PointSessionEnd {
		return a
	}
	a.Action, a.Context = sdk.ActionModifyContext, k.name()+" did not pass"
	if why := cmp.Or(a.Reason, measuredReason(a.Facts)); why != "" {
		a.Context += ": " + why
	}
	if len(a.Facts) > 0 {
		a.Context += "\nMeasured: " + string(a.Facts)
	}
	return a
}

// legal refuses what no action may answer.
func (k *call) legal(a sdk.HookAnswer) error {
	switch {
	case !slices.Contains(answers, a.Action):
		return failure.New(failure.HookFailed, "it answered %q", event.Truncate(string(a.Action), event.MaxName))
	case a.Outcome != "" && a.Outcome != string(plan.OutcomeFail):
		return failure.New(failure.HookFailed, "it answered the outcome %q, and can only say %s", event.Truncate(a.Outcome, event.MaxName), plan.OutcomeFail)
	case len(a.Context) > maxContext:
		return failure.New(failure.HookFailed, "its text has %d bytes, at most %d are taken", len(a.Context), maxContext)
	case len(a.Facts) > maxFacts:
		return failure.New(failure.HookFailed, "its facts have %d bytes, at most %d are taken", len(a.Facts), maxFacts)
	default:
		return nil
	}
}

// possible makes of an answer what the point allows.
func (k *call) possible(d *event.HookCompleteData) {
	was := d.Answer
	switch {
	case k.point == plan.PointSessionEnd && was != event.HookContinue:
		d.Answer = event.HookContinue
	case was == event.HookRestartStage && !canRestart(k.point): // its text still counts
		d.Answer = event.HookModifyContext
	}
	if d.Answer != was {
		k.log.Warn("a hook answered what is not possible here", "answer", was, "taken_as", d.Answer)
		d.Reason = fmt.Sprintf("%s is not possible at %s: %s", was, k.point, cmp.Or(d.Reason, "no reason given"))
	}
	if d.Answer == event.HookPause && d.Reason == "" {
		d.Reason = "paused by " + k.name()
	}
}

// name is the hook in messages.
func (k *call) name() string {
	name := fmt.Sprintf("the hook %s at %s", k.action(), k.point)
	if k.node != nil {
		name += " of " + k.node.ID
	}
	return name
}

func (k *call) data(answer, reason string) event.HookCompleteData {
	return event.HookCompleteData{
		Hook: k.Command.Hook, Point: string(k.point), Action: k.action(), Answer: answer,
		Reason: event.Truncate(reason, event.MaxReason), DurationMS: time.Since(k.started).Milliseconds(),
	}
}

// failed is the end of a hook that has no answer: the run goes on as on_timeout or on_error says. It injects nothing.
func (k *call) failed(err error) event.Event {
	f := failure.From(err)
	kind, to, t := f.Kind, k.onError(), event.HookComplete
	switch {
	case kind == failure.HookTimeout:
		to, t = k.onTimeout(), event.HookTimeout
	case kind == failure.SignalInterrupt, kind == failure.Aborted:
	case kind != failure.HookFailed:
		kind = failure.HookFailed
	}
	message := event.Truncate(f.Message, event.MaxText)
	d := k.data(string(to), fmt.Sprintf("%s: %s", k.name(), message))
	failed := event.FailureOf(&failure.Error{Kind: kind, Message: f.Message, Detail: f.Detail, Hint: f.Hint, Cause: err})
	failed.Iteration = k.at.Iteration
	d.Failure = &failed
	if k.node != nil {
		d.Failure.Node, d.Failure.Stage = k.node.ID, k.node.ID
	}
	k.possible(&d)
	k.log.Warn("hook failed", "error", err, "answer", d.Answer)
	return k.event(t, d)
}

func (k *call) onError() plan.Fallback {
	if k.hook == nil {
		return cmp.Or(k.OnError, plan.FallbackContinue)
	}
	return cmp.Or(k.hook.OnError, plan.FallbackPause)
}

func (k *call) onTimeout() plan.Fallback {
	if k.hook == nil {
		return k.onError()
	}
	return cmp.Or(k.hook.OnTimeout, plan.FallbackPause)
}

// notPassed is the failure of a stage at whose end a check did not pass.
func (k *call) notPassed(a sdk.HookAnswer) *event.FailureData {
	message := k.name() + " did not pass"
	if measured := measuredReason(a.Facts); measured != "" {
		message += ": " + measured
	}
	d := &event.FailureData{
		Code: failure.CheckFailed.Code(), ErrorType: string(failure.CheckFailed), Iteration: k.at.Iteration,
		Message: event.Truncate(cmp.Or(a.Reason, message), event.MaxText),
	}
	if k.node != nil {
		d.Node, d.Stage = k.node.ID, k.node.ID
	}
	if k.point != plan.PointStageEnd { // it fails nothing
		return d
	}
	d.ResumeCommand = "agent-pipelines resume " + k.State.Session
	d.Remedy = "mend it, then " + d.ResumeCommand + ", which measures again"
	return d
}

// measuredReason is the reason in a check's facts, "" where they have none. Which members facts have is the action's own.
func measuredReason(facts json.RawMessage) string {
	var of struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(facts, &of) != nil {
		return ""
	}
	return of.Reason
}

func panicked(p any) error {
	err, ok := p.(error)
	if !ok {
		err = errors.New(fmt.Sprint(p))
	}
	f := failure.New(failure.HookFailed, "the callback panicked: %w", err)
	f.Detail = string(debug.Stack())
	return f
}

// progress is the name of the progress file that the moment's agents share.
func (k *call) progress() string {
	if k.node == nil {
		return ""
	}
	if k.State.Mode == "loop" {
		return store.ProgressFile(k.State.Session)
	}
	n, err := store.At(k.Plan, k.at)
	if k.at.Branch != "" {
		n, err = store.Provider(k.Plan, k.at)
	}
	if err != nil {
		return ""
	}
	return n.Progress()
}
