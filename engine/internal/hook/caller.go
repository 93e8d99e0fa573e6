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

// Limit is how long an action may take for which no timeout is set and which knows none itself.
const Limit = 10 * time.Minute

// Grace is what an action may take beyond the timeout that it was told: it ends what it started by then. An
// action that does not keep its time is cut off after it.
const Grace = 15 * time.Second

// callback is the action of hooks that are functions of the embedding program, as events have it.
const callback = "callback"

// Actions finds the action of a hook that is called at a node, nil at the session's points; the error says
// what exists.
type Actions interface {
	HookAction(ctx context.Context, h *plan.Hook, at *plan.Node) (sdk.HookAction, error)
}

// Callback is a hook of the program that embeds the engine.
type Callback func(ctx context.Context, m Moment) (sdk.HookAnswer, error)

// Moment is what a callback is told.
type Moment struct {
	Request sdk.HookRequest
	State   state.State
	// Progress is the name of the progress file in the session's directory, "" where there is none.
	Progress string
}

// Job is one hook to be called.
type Job struct {
	Command schedule.Command
	State   state.State
	// Record commits an event that happens meanwhile; it returns when the event is durable.
	Record func(ctx context.Context, e event.Event) error
}

// Caller calls the hooks of one run. All fields but Callbacks and OnError are needed. It is safe for concurrent use.
type Caller struct {
	Plan    *plan.Plan
	Project *store.Project
	Dir     *store.Dir
	Actions Actions
	Log     hclog.Logger
	// Redactor takes the secrets out of what actions are told and say. Default: one that knows no values.
	Redactor *redact.Redactor
	// Callbacks are numbered by [schedule.CallbackNumber]. OnError is how the run goes on after one that
	// failed or panicked; "" is to continue.
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
	k.log = c.Log.With("session", j.State.Session, "hook", j.Command.Hook, "point", string(k.point), "action", k.action())
	if q, asked := j.State.Questions[event.QuestionID(j.Command.Key)]; asked && q.Answer != nil {
		return k.answered(q)
	}
	if why, warning := k.skips(); why != "" {
		if warning {
			k.log.Warn("hook skipped", "reason", why)
		}
		e := k.event(event.HookSkipped, event.HookSkippedData{Hook: j.Command.Hook, Point: string(k.point), Reason: event.Truncate(why, event.MaxText), Warning: warning})
		e.Volatile = true
		return e
	}
	if err := j.Record(ctx, k.event(event.HookStart, event.HookStartData{Hook: j.Command.Hook, Point: string(k.point), Action: k.action()})); err != nil {
		return k.failed(failure.New(failure.SignalInterrupt, "the run does not wait for the hook: %w", err))
	}
	failpoint.Point("hook.started")
	return k.act(ctx)
}

func (k *call) action() string {
	if k.hook == nil {
		return callback
	}
	return k.hook.Action
}

func (k *call) event(t event.Type, data any) event.Event {
	return event.New(t, k.at.Cursor(), k.Command.Key, data)
}

// skips says why the hook is not called, "" if it is.
func (k *call) skips() (why string, warning bool) {
	if k.hook == nil || k.hook.Condition == "" {
		return "", false
	}
	c, err := condition.Parse(k.hook.Condition)
	if err != nil {
		return err.Error(), true
	}
	holds, err := c.Eval(k.vars())
	switch {
	case err != nil:
		return err.Error(), true
	case !holds:
		return "the condition does not hold: " + k.hook.Condition, false
	default:
		return "", false
	}
}

// act performs the action.
func (k *call) act(ctx context.Context) event.Event {
	switch k.action() {
	case plan.ActionPause:
		return k.complete(sdk.HookAnswer{Action: sdk.ActionPause, Reason: k.hook.Message})
	case plan.ActionConfirm:
		return k.ask(false)
	}
	if k.hook != nil { // a callback ends when it ends
		limit := Limit
		if k.hook.Timeout > 0 {
			limit = k.timeout() + Grace
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
		return k.failed(err)
	}
	return k.complete(answer)
}

// timeout is the hook's own, 0 for none.
func (k *call) timeout() time.Duration {
	return time.Duration(k.hook.Timeout * float64(time.Second))
}

func (k *call) run(ctx context.Context) (sdk.HookAnswer, error) {
	req, err := k.request()
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	if k.hook == nil {
		return k.callBack(ctx, req)
	}
	action, err := k.Actions.HookAction(ctx, k.hook, k.node)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	return action.Run(ctx, req)
}

// callBack calls a function of the program; what it panics with is its error.
func (k *call) callBack(ctx context.Context, req sdk.HookRequest) (answer sdk.HookAnswer, err error) {
	i := k.Command.Hook - schedule.CallbackNumber(0)
	if i < 0 || i >= len(k.Callbacks) {
		return answer, fmt.Errorf("this program has no callback %d", i)
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return k.Callbacks[i](ctx, Moment{Request: req, State: k.State, Progress: k.progress()})
}
