package hook

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// DefaultTimeout limits an action without a timeout of its own.
const DefaultTimeout = 10 * time.Minute

// GracePeriod is the additional time of an action after its own timeout, in which it can stop its processes. After
// that the call is canceled.
const GracePeriod = 15 * time.Second

// callbackAction is the action of callbacks in events.
const callbackAction = "callback"

// Actions finds the action of a hook at a node; the node is nil at the session's points. Its error lists the actions
// that exist. In mode strict the action may write the paths of write, too.
type Actions interface {
	HookAction(ctx context.Context, h *plan.Hook, at *plan.Node, write ...string) (sdk.HookAction, error)
}

// Callback is a hook function of the program that embeds the engine, at a point of the run.
type Callback struct {
	Point plan.HookPoint
	Call  func(ctx context.Context, m CallbackRequest) sdk.HookAnswer
}

// CallbackRequest is the argument of a callback.
type CallbackRequest struct {
	Request sdk.HookRequest
	State   state.State
	// Progress is the content of the progress file that the agents at the point share, "" without one.
	Progress string
}

// Caller calls the hooks of one run. Actions is required. It is safe for concurrent use.
type Caller struct {
	*effect.Env
	Actions Actions
	// Callbacks are numbered by [schedule.CallbackNumber]. OnError is the reaction to a callback that fails or panics;
	// default: continue.
	Callbacks []Callback
	OnError   plan.Fallback
}

// call is one call of a hook.
type call struct {
	*effect.Effect
	caller  *Caller
	hook    *plan.Hook // nil for a callback
	point   plan.HookPoint
	at      event.Location
	node    *plan.Node // nil at the session's points
	started time.Time
}

func (k *call) actionName() string {
	if k.hook == nil {
		return callbackAction
	}
	return k.hook.Action
}
