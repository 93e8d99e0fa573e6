package hook

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// DefaultTimeout limits an action without a timeout of its own.
const DefaultTimeout = 10 * time.Minute

// GracePeriod is the additional time of an action after its timeout, to stop its own processes. After that the call is
// canceled.
const GracePeriod = 15 * time.Second

// callbackAction is the action of callbacks in events.
const callbackAction = "callback"

// Actions finds the action of a hook at a node; the node is nil at the session's points. Its error lists the actions
// that exist.
type Actions interface {
	HookAction(ctx context.Context, h *plan.Hook, at *plan.Node) (sdk.HookAction, error)
}

// Callback is a hook function of the program that embeds the engine.
type Callback func(ctx context.Context, m CallbackRequest) (sdk.HookAnswer, error)

// CallbackRequest is the argument of a callback.
type CallbackRequest struct {
	Request sdk.HookRequest
	State   state.State
	// Progress is the name of the progress file in the session's directory, "" without one.
	Progress string
}

// Job is one hook to call.
type Job struct {
	Command schedule.Command
	State   state.State
	// Record commits an event of the call. It returns when the event is durable.
	Record func(ctx context.Context, e event.Event) error
}

// Caller calls the hooks of one run. Plan, Project, Dir, Actions and Log are required. It is safe for concurrent use.
type Caller struct {
	Plan    *plan.Plan
	Project *store.Project
	Dir     *store.Dir
	Actions Actions
	Log     hclog.Logger
	// Redactor removes secrets from requests and answers of actions. Default: a redactor without values.
	Redactor *redact.Redactor
	// Callbacks are numbered by [schedule.CallbackNumber]. OnError is the reaction to one that fails or panics;
	// default: continue.
	Callbacks []Callback
	OnError   plan.Fallback
}

// call is one call of a hook.
type call struct {
	*Caller
	Job
	hook    *plan.Hook // nil for a callback
	point   plan.HookPoint
	at      event.Location
	node    *plan.Node // nil at the session's points
	log     hclog.Logger
	started time.Time
}

// Call calls the hook that the job's command names and returns the event that ends the call, with the command's key:
// hook_skipped, hook_complete, hook_timeout, or question_asked.
func (c *Caller) Call(ctx context.Context, j Job) event.Event {
	k := &call{
		Caller: c, Job: j, hook: schedule.FindHook(c.Plan, j.Command.Location, j.Command.Hook), point: j.Command.Point,
		at: j.Command.Location, node: schedule.NodeAt(c.Plan, j.State, j.Command.Location, j.Command.Point), started: time.Now(),
	}
	k.log = c.Log.With("session", j.State.Session, "hook", j.Command.Hook, "point", string(k.point), "action", k.actionName())
	if q, asked := j.State.Questions[event.QuestionID(j.Command.Key)]; asked && q.Answer != nil {
		return k.applyAnswer(q)
	}
	if reason, warning := k.skipReason(); reason != "" {
		if warning {
			k.log.Warn("hook skipped", "reason", reason)
		}
		e := k.event(event.HookSkipped, event.HookSkippedData{Hook: j.Command.Hook, Point: string(k.point), Reason: event.Truncate(reason, event.MaxText), Warning: warning})
		e.Volatile = true
		return e
	}
	if err := j.Record(ctx, k.event(event.HookStart, event.HookStartData{Hook: j.Command.Hook, Point: string(k.point), Action: k.actionName()})); err != nil {
		return k.failureEvent(failure.New(failure.SignalInterrupt, "the run no longer waits for the hook: %w", err))
	}
	failpoint.Point("hook.started")
	return k.perform(ctx)
}

func (k *call) actionName() string {
	if k.hook == nil {
		return callbackAction
	}
	return k.hook.Action
}

func (k *call) event(t event.Type, data any) event.Event {
	return event.New(t, k.at.Cursor(), k.Command.Key, data)
}

// skipReason returns why the hook is not called, "" if it is called.
func (k *call) skipReason() (reason string, warning bool) {
	if k.hook == nil || k.hook.Condition == "" {
		return "", false
	}
	c, err := condition.Parse(k.hook.Condition)
	if err != nil {
		return err.Error(), true
	}
	holds, err := c.Eval(k.conditionVars())
	switch {
	case err != nil:
		return err.Error(), true
	case !holds:
		return "the condition does not hold: " + k.hook.Condition, false
	default:
		return "", false
	}
}

// perform performs the action.
func (k *call) perform(ctx context.Context) event.Event {
	switch k.actionName() {
	case plan.ActionPause:
		return k.complete(sdk.HookAnswer{Action: sdk.ActionPause, Reason: k.hook.Message})
	case plan.ActionConfirm:
		return k.askQuestion(false)
	}
	if k.hook != nil { // a callback has no timeout
		limit := DefaultTimeout
		if k.hook.Timeout > 0 {
			limit = k.timeout() + GracePeriod
		}
		var cancel context.CancelFunc
		ctx, cancel = pluginhost.WithCallTimeout(ctx, limit, failure.New(failure.HookTimeout, "no answer within %s", limit))
		defer cancel()
	}
	answer, err := k.run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	failpoint.Point("hook.answered")
	if err != nil {
		return k.failureEvent(err)
	}
	return k.complete(answer)
}

// timeout returns the hook's own timeout, 0 for none.
func (k *call) timeout() time.Duration {
	return time.Duration(k.hook.Timeout * float64(time.Second))
}

func (k *call) run(ctx context.Context) (sdk.HookAnswer, error) {
	req, err := k.request()
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	if k.hook == nil {
		return k.runCallback(ctx, req)
	}
	action, err := k.Actions.HookAction(ctx, k.hook, k.node)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	return action.Run(ctx, req)
}

// runCallback calls a function of the program and returns its panic as an error.
func (k *call) runCallback(ctx context.Context, req sdk.HookRequest) (answer sdk.HookAnswer, err error) {
	i := k.Command.Hook - schedule.CallbackNumber(0)
	if i < 0 || i >= len(k.Callbacks) {
		return answer, fmt.Errorf("this program has no callback %d", i)
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	return k.Callbacks[i](ctx, CallbackRequest{Request: req, State: k.State, Progress: k.progressFile()})
}
