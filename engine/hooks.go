package engine

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/engine/internal/session"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// HookAction is the action of a hook's answer.
type HookAction = sdk.Action

// The five actions (REQUIREMENTS U241). At session_end all count as ActionContinue. At session_start and stage_start,
// ActionRestartStage counts as ActionModifyContext.
const (
	ActionContinue      = sdk.ActionContinue
	ActionPause         = sdk.ActionPause         // pauses the session; [Engine.Resume] continues after the hook
	ActionAbort         = sdk.ActionAbort         // ends the session for good
	ActionRestartStage  = sdk.ActionRestartStage  // restarts the stage, or the whole parallel block, at iteration 1
	ActionModifyContext = sdk.ActionModifyContext // adds Context to the next prompts
)

// HookResult is a hook's answer. The zero value continues.
type HookResult = sdk.HookAnswer

// Continue continues the run.
func Continue() HookResult { return HookResult{Action: ActionContinue} }

// Pause pauses the session. In a parallel block each provider finishes its iteration first.
func Pause(reason string) HookResult { return HookResult{Action: ActionPause, Reason: reason} }

// Abort ends the session for good.
func Abort(reason string) HookResult { return HookResult{Action: ActionAbort, Reason: reason} }

// RestartStage restarts the stage at iteration 1 and adds a text to its prompts.
func RestartStage(text string) HookResult {
	return HookResult{Action: ActionRestartStage, Context: text}
}

// ModifyContext adds a text to prompts. At a start, they are the prompts of the stage or iteration that starts; at an
// end, the next prompts.
func ModifyContext(text string) HookResult {
	return HookResult{Action: ActionModifyContext, Context: text}
}

// HookContext describes the point at which a hook is called.
type HookContext struct {
	// Point is the hook point, such as iteration_end.
	Point   plan.HookPoint
	Session string
	// Stage is the node's id, "" at session points.
	Stage string
	// Iteration counts from 1. At stage_end it is the last iteration; at other points outside iterations it is 0.
	Iteration int
	// Provider is the stage's provider; in a parallel block, the provider that calls the hook.
	Provider string
	// Status is running at a start. At an end it is success, error, timeout or fail; for the session,
	// completed or failed.
	Status string
	// State is a copy of the run's state.
	State *state.State
	// Result is the last iteration's result at end points, nil if there is none.
	Result *IterationResult
	// Progress is the content of the stage's progress file.
	Progress string
	// Injected is the text that the user and hooks have added to the prompts at this point.
	Injected string

	ctx context.Context //nolint:containedctx // a hook is a call, and its signature is the seed's
}

// Context returns a context that ends when the run is aborted or exceeds the time limit of a stop.
func (c *HookContext) Context() context.Context { return c.ctx }

// IterationResult is the normalized result.json of an iteration.
type IterationResult = result.Result

// Hooks registers the program's hooks; [Engine] embeds it. It is safe for concurrent use.
type Hooks struct {
	mu    sync.Mutex // guards hooks
	hooks session.Hooks
}

func (h *Hooks) add(point plan.HookPoint, call func(*HookContext) HookResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks.Callbacks = append(h.hooks.Callbacks, hook.Callback{Point: point, Call: func(ctx context.Context, m hook.CallbackRequest) sdk.HookAnswer {
		return call(newHookContext(ctx, m))
	}})
}

// OnSessionStart registers a hook that is called before the first stage of a session. Registered hooks run after
// the pipeline's own hooks, in the order of registration, and the run waits for each. If a hook panics, the panic
// is logged and [WithHookErrors] decides how the run continues. A hook applies to sessions started or resumed
// after its registration.
func (h *Hooks) OnSessionStart(hook func(*HookContext) HookResult) {
	h.add(plan.PointSessionStart, hook)
}

// OnSessionEnd registers a hook that is called when a session completes or fails; its answer has no effect.
// See [Hooks.OnSessionStart].
func (h *Hooks) OnSessionEnd(hook func(*HookContext) HookResult) {
	h.add(plan.PointSessionEnd, hook)
}

// OnStageStart registers a hook that is called before a stage, a block or an embedded pipeline. See
// [Hooks.OnSessionStart].
func (h *Hooks) OnStageStart(hook func(*HookContext) HookResult) {
	h.add(plan.PointStageStart, hook)
}

// OnStageEnd registers a hook that is called after a stage, a block or an embedded pipeline, before the run
// continues. See [Hooks.OnSessionStart].
func (h *Hooks) OnStageEnd(hook func(*HookContext) HookResult) {
	h.add(plan.PointStageEnd, hook)
}

// OnIterationStart registers a hook that is called before each iteration. See [Hooks.OnSessionStart].
func (h *Hooks) OnIterationStart(hook func(*HookContext) HookResult) {
	h.add(plan.PointIterationStart, hook)
}

// OnIterationEnd registers a hook that is called after each iteration, before the termination strategy
// decides. See [Hooks.OnSessionStart].
func (h *Hooks) OnIterationEnd(hook func(*HookContext) HookResult) {
	h.add(plan.PointIterationEnd, hook)
}

// OnParallelProviderStart registers a hook that is called before a provider of a parallel block starts. See
// [Hooks.OnSessionStart]; the providers of a block call hooks concurrently.
func (h *Hooks) OnParallelProviderStart(hook func(*HookContext) HookResult) {
	h.add(plan.PointParallelProviderStart, hook)
}

// OnParallelProviderEnd registers a hook that is called after a provider of a parallel block. See
// [Hooks.OnParallelProviderStart].
func (h *Hooks) OnParallelProviderEnd(hook func(*HookContext) HookResult) {
	h.add(plan.PointParallelProviderEnd, hook)
}

// OnResume registers a hook that is called when [Engine.Resume] begins, with the text given to Resume.
// ActionModifyContext replaces the text, also for the next hook. ActionPause leaves the session paused;
// ActionAbort ends it.
func (h *Hooks) OnResume(hook func(hook *HookContext, input string) HookResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks.Resume = append(h.hooks.Resume, func(ctx context.Context, st state.State, text string) sdk.HookAnswer {
		c := &HookContext{Session: st.Session, Status: string(st.Status), State: &st, Injected: st.Context, ctx: ctx}
		return hook(c, text)
	})
}

// snapshot returns the hooks registered so far.
func (h *Hooks) snapshot() session.Hooks {
	h.mu.Lock()
	defer h.mu.Unlock()
	return session.Hooks{Callbacks: slices.Clone(h.hooks.Callbacks), Resume: slices.Clone(h.hooks.Resume)}
}

func newHookContext(ctx context.Context, m hook.CallbackRequest) *HookContext {
	st := m.State.Clone()
	h := &HookContext{
		Point: plan.HookPoint(m.Request.Point), Session: m.Request.Session, Stage: m.Request.Node, Iteration: m.Request.Iteration,
		Provider: m.Request.Provider, Status: m.Request.Status, State: &st, Progress: m.Progress, Injected: m.Request.Context, ctx: ctx,
	}
	if len(m.Request.Result) > 0 {
		var r IterationResult
		if json.Unmarshal(m.Request.Result, &r) == nil { // the attempt has normalized the result
			h.Result = &r
		}
	}
	return h
}
