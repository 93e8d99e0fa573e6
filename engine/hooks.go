package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// HookAction is the action of a hook's answer.
type HookAction = sdk.Action

// The five actions (REQUIREMENTS U241). At session_end all count as ActionContinue; before the first stage,
// ActionRestartStage counts as ActionModifyContext.
const (
	ActionContinue      = sdk.ActionContinue
	ActionPause         = sdk.ActionPause         // pauses the session; [Engine.Resume] continues after the hook
	ActionAbort         = sdk.ActionAbort         // ends the session for good
	ActionRestartStage  = sdk.ActionRestartStage  // restarts the stage, or the whole parallel block, at iteration 1
	ActionModifyContext = sdk.ActionModifyContext // adds Context to the next prompts
)

// HookResult is a hook's answer. The zero value continues.
type HookResult struct {
	Action  HookAction
	Reason  string // for a pause or an abort
	Context string // text for the agents, with ActionModifyContext or ActionRestartStage
}

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

// ModifyContext adds a text to the prompts of the stage or iteration that starts, or of the next one at an
// end.
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
	// Iteration counts from 1; at stage_end it is the last one, 0 at other points outside iterations.
	Iteration int
	// Provider is the stage's provider; in a parallel block, the one calling the hook.
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

// callback is a hook registered by the program.
type callback struct {
	point plan.HookPoint
	call  func(*HookContext) HookResult
}

// Hooks registers the program's hooks; [Engine] embeds it. It is safe for concurrent use.
type Hooks struct {
	mu     sync.Mutex // guards:
	hooks  []callback
	resume []func(*HookContext, string) HookResult
}

func (h *Hooks) add(point plan.HookPoint, call func(*HookContext) HookResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks = append(h.hooks, callback{point, call})
}

// OnSessionStart registers a hook that is called before the first stage of a session. Hooks run after the
// pipeline's own, in the order of registration, and the run waits for each. If a hook panics, the panic is
// logged and [WithHookErrors] decides how the run continues. A hook applies to sessions started or resumed
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
	h.resume = append(h.resume, hook)
}

// snapshot returns the hooks registered so far.
func (h *Hooks) snapshot() (hooks []callback, resume []func(*HookContext, string) HookResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(hooks, h.hooks...), append(resume, h.resume...)
}

// hookCaller returns the caller of the session's hooks.
func (s *session) hookCaller(env *effect.Env) *hook.Caller {
	c := &hook.Caller{Env: env, Actions: s.components(), OnError: s.engine.env.Config.HookErrors}
	for _, registered := range s.callbacks {
		c.Callbacks = append(c.Callbacks, func(ctx context.Context, m hook.CallbackRequest) (sdk.HookAnswer, error) {
			r := registered.call(s.newHookContext(ctx, m))
			return sdk.HookAnswer{Action: r.Action, Reason: r.Reason, Context: r.Context}, nil
		})
	}
	return c
}

// maxProgress bounds the progress text passed to a hook, in bytes.
const maxProgress = 4 << 20

func (s *session) newHookContext(ctx context.Context, m hook.CallbackRequest) *HookContext {
	st := m.State.Clone()
	h := &HookContext{
		Point: plan.HookPoint(m.Request.Point), Session: m.Request.Session, Stage: m.Request.Node, Iteration: m.Request.Iteration,
		Provider: m.Request.Provider, Status: m.Request.Status, State: &st, Injected: m.Request.Context, ctx: ctx,
	}
	if len(m.Request.Result) > 0 {
		var r IterationResult
		if json.Unmarshal(m.Request.Result, &r) == nil { // the attempt has normalized it
			h.Result = &r
		}
	}
	if m.Progress != "" {
		if text, err := s.dir.Read(m.Progress, maxProgress); err == nil { // absent before the first iteration
			h.Progress = string(text)
		}
	}
	return h
}

// callbackPoints returns the points of the session's callbacks, for the journal.
func (s *session) callbackPoints() []string {
	var points []string
	for _, c := range s.callbacks {
		points = append(points, string(c.point))
	}
	return points
}

// callResumeHooks calls the OnResume hooks with the text of the resume. It returns the text for the prompts
// and, if a hook pauses or aborts, the control event for it.
func (s *session) callResumeHooks(ctx context.Context, text string) (prompt string, control *event.Event) {
	controlEvent := func(action string, r HookResult) *event.Event {
		e := event.New(event.Control, nil, "", event.ControlData{
			ID: newID(), Action: action, Kind: string(state.PauseHook), Reason: event.Truncate(r.Reason, event.MaxText), By: "OnResume",
		})
		return &e
	}
	st := s.state.Clone()
	for _, call := range s.resumeHooks {
		r := s.callResume(call, &HookContext{Session: s.name, Status: string(st.Status), State: &st, Injected: st.Context, ctx: ctx}, text)
		switch r.Action {
		case ActionModifyContext:
			text = r.Context
		case ActionPause:
			return text, controlEvent("pause", r)
		case ActionAbort:
			return text, controlEvent("abort", r)
		}
	}
	return text, nil
}

// callResume calls one hook. If it panics, the engine's option decides; by default it is ignored.
func (s *session) callResume(call func(*HookContext, string) HookResult, h *HookContext, text string) (r HookResult) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an OnResume hook panicked", "panic", p)
			r = HookResult{Action: HookAction(s.engine.env.Config.HookErrors), Reason: fmt.Sprint("an OnResume hook panicked: ", p)}
		}
	}()
	return call(h, text)
}
