package hook

import (
	"cmp"
	"encoding/json"
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

// Bounds in bytes.
const (
	maxContext  = 1 << 20  // text for the agent, in an answer
	maxFacts    = 16 << 10 // facts of an answer, in the journal
	maxProgress = 4 << 20  // content of the progress file, for a callback
)

var validActions = []sdk.Action{sdk.ActionContinue, sdk.ActionPause, sdk.ActionAbort, sdk.ActionRestartStage, sdk.ActionModifyContext}

// complete returns the event of a hook that answered.
func (k *call) complete(a sdk.HookAnswer) event.Event {
	a.Action = cmp.Or(a.Action, sdk.ActionContinue)
	if err := k.validateAnswer(a); err != nil {
		return k.failureEvent(err)
	}
	a = k.withCheckFeedback(a)
	d := k.completeData(string(a.Action), a.Reason)
	k.restrictAnswer(&d)
	if a.Context != "" && (a.Action == sdk.ActionModifyContext || a.Action == sdk.ActionRestartStage) {
		ref, err := k.Dir.Write(store.HookText(k.Command.Key, string(k.point)), []byte(k.Redactor.ForAgent().Text(a.Context)))
		if err != nil {
			return k.failureEvent(err)
		}
		d.Context = &ref
	}
	if q, asked := k.State.Questions[event.QuestionID(k.Command.Key)]; asked && q.Answer != nil {
		d.Question = event.QuestionID(k.Command.Key)
	}
	if d.Facts, d.Outcome = a.Facts, a.Outcome; d.Outcome != "" {
		d.Failure = k.checkFailure(a)
	}
	return k.Event(event.HookComplete, d)
}

// withCheckFeedback turns the answer of a failed check into text for the next agents. It does not do so at the end of
// a stage or session.
func (k *call) withCheckFeedback(a sdk.HookAnswer) sdk.HookAnswer {
	if a.Outcome == "" || a.Action != sdk.ActionContinue || k.point == plan.PointStageEnd || k.point == plan.PointSessionEnd {
		return a
	}
	a.Action, a.Context = sdk.ActionModifyContext, k.description()+" did not pass"
	if why := cmp.Or(a.Reason, measuredReason(a.Facts)); why != "" {
		a.Context += ": " + why
	}
	if len(a.Facts) > 0 {
		a.Context += "\nMeasured: " + string(a.Facts)
	}
	return a
}

// validateAnswer returns an error for an answer that no action may return.
func (k *call) validateAnswer(a sdk.HookAnswer) error {
	switch {
	case !slices.Contains(validActions, a.Action):
		return failure.New(failure.HookFailed, "it answered %q", event.Truncate(string(a.Action), event.MaxName))
	case a.Outcome != "" && a.Outcome != string(plan.OutcomeFail):
		return failure.New(failure.HookFailed, "it answered the outcome %q; want %s", event.Truncate(a.Outcome, event.MaxName), plan.OutcomeFail)
	case len(a.Context) > maxContext:
		return failure.New(failure.HookFailed, "its text has %d bytes, more than the limit of %d", len(a.Context), maxContext)
	case len(a.Facts) > maxFacts:
		return failure.New(failure.HookFailed, "its facts have %d bytes, more than the limit of %d", len(a.Facts), maxFacts)
	default:
		return nil
	}
}

// restrictAnswer replaces an answer that the point does not allow.
func (k *call) restrictAnswer(d *event.HookCompleteData) {
	answer := d.Answer
	switch {
	case k.point == plan.PointSessionEnd && answer != event.HookContinue:
		d.Answer = event.HookContinue
	case answer == event.HookRestartStage && !canRestart(k.point): // the answer's text stays
		d.Answer = event.HookModifyContext
	}
	if d.Answer != answer {
		k.Log.Warn("hook answer is not possible at this point", "answer", answer, "used", d.Answer)
		d.Reason = fmt.Sprintf("%s is not possible at %s: %s", answer, k.point, cmp.Or(d.Reason, "no reason given"))
	}
	if d.Answer == event.HookPause && d.Reason == "" {
		d.Reason = "paused by " + k.description()
	}
}

// description returns the hook's name for messages.
func (k *call) description() string {
	name := fmt.Sprintf("the hook %s at %s", k.actionName(), k.point)
	if k.node != nil {
		name += " of " + k.node.ID
	}
	return name
}

func (k *call) completeData(answer, reason string) event.HookCompleteData {
	return event.HookCompleteData{
		Hook: k.Command.Hook, Point: string(k.point), Action: k.actionName(), Answer: answer,
		Reason: event.Truncate(reason, event.MaxReason), DurationMS: time.Since(k.started).Milliseconds(),
	}
}

// failureEvent returns the event of a hook without an answer: the run continues as on_timeout or on_error says,
// without injected text.
func (k *call) failureEvent(err error) event.Event {
	f := failure.From(err)
	kind, to, t := f.Kind, cmp.Or(k.caller.OnError, plan.FallbackContinue), event.HookComplete
	if k.hook != nil {
		to = cmp.Or(k.hook.OnError, plan.FallbackPause)
	}
	switch {
	case kind == failure.HookTimeout && k.hook != nil:
		to, t = cmp.Or(k.hook.OnTimeout, plan.FallbackPause), event.HookTimeout
	case kind == failure.SignalInterrupt, kind == failure.Aborted, kind == failure.Tampered:
	case kind != failure.HookFailed:
		kind = failure.HookFailed
	}
	message := event.Truncate(f.Message, event.MaxText)
	d := k.completeData(string(to), fmt.Sprintf("%s: %s", k.description(), message))
	failed := event.NewFailureData(&failure.Error{Kind: kind, Message: f.Message, Detail: f.Detail, Hint: f.Hint, Cause: err})
	failed.Iteration = k.at.Iteration
	d.Failure = &failed
	if k.node != nil {
		d.Failure.Node, d.Failure.Stage = k.node.ID, k.node.ID
	}
	k.restrictAnswer(&d)
	k.Log.Warn("hook failed", "error", err, "answer", d.Answer)
	return k.Event(t, d)
}

// checkFailure returns the failure of a check that did not pass. The failure fails a stage only at the stage's end.
func (k *call) checkFailure(a sdk.HookAnswer) *event.FailureData {
	message := k.description() + " did not pass"
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
	if k.point != plan.PointStageEnd { // no stage fails
		return d
	}
	d.ResumeCommand = failure.Next("resume", k.State.Session).String()
	d.Remedy = "fix the cause, then run " + d.ResumeCommand + " to repeat the check"
	return d
}

// measuredReason returns the reason in a check's facts, "" without one. The action defines the members of its facts.
func measuredReason(facts json.RawMessage) string {
	var decoded struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(facts, &decoded) != nil {
		return ""
	}
	return failure.OneLine(decoded.Reason)
}

func panicError(p any) error {
	return failure.New(failure.HookFailed, "the callback panicked: %v", p).WithDetail(string(debug.Stack()))
}

// canRestart reports whether a stage can be restarted at the point.
func canRestart(point plan.HookPoint) bool {
	switch point {
	case plan.PointSessionStart, plan.PointSessionEnd, plan.PointStageStart:
		return false
	default:
		return true
	}
}
