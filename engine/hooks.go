package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// HookAction is what a hook answers.
type HookAction = sdk.Action

// The five answers (REQUIREMENTS U241). At session_end all are taken as ActionContinue; where no stage has begun,
// ActionRestartStage is ActionModifyContext.
const (
	ActionContinue      = sdk.ActionContinue
	ActionPause         = sdk.ActionPause         // the session pauses; [Engine.Resume] goes on after the hook
	ActionAbort         = sdk.ActionAbort         // the session ends for good
	ActionRestartStage  = sdk.ActionRestartStage  // the stage, or the whole parallel block, begins again at iteration 1
	ActionModifyContext = sdk.ActionModifyContext // Context goes into the next prompts
)

// HookResult is a hook's answer. The zero value continues.
type HookResult struct {
	Action  HookAction
	Reason  string // for a pause or an abort
	Context string // text for the agents, for ActionModifyContext and ActionRestartStage
}

// Continue lets the run go on.
func Continue() HookResult { return HookResult{Action: ActionContinue} }

// Pause pauses the session. In a parallel block each provider finishes its iteration first.
func Pause(reason string) HookResult { return HookResult{Action: ActionPause, Reason: reason} }

// Abort ends the session for good.
func Abort(reason string) HookResult { return HookResult{Action: ActionAbort, Reason: reason} }

// RestartStage begins the stage again at iteration 1, with a text for its agents.
func RestartStage(text string) HookResult {
	return HookResult{Action: ActionRestartStage, Context: text}
}

// ModifyContext puts a text into the prompts of what the hook's point opens, or of what comes after an end.
func ModifyContext(text string) HookResult {
	return HookResult{Action: ActionModifyContext, Context: text}
}

// HookContext is the moment at which a hook is called.
type HookContext struct {
	// Point is the moment's name, such as iteration_end.
	Point   plan.HookPoint
	Session string
	// Stage is the id of the node, "" at the session's points.
	Stage string
	// Iteration counts from 1; at stage_end it is the last one, 0 outside.
	Iteration int
	// Provider is the stage's provider, in a parallel block the one that works.
	Provider string
	// Status is running at a start, and how it ended at an end: success, error, timeout, fail; of the session
	// completed or failed.
	Status string
	// State is the run's state, a copy.
	State *state.State
	// Result is the result of the last iteration at the points that end something, nil where there is none.
	Result *IterationResult
	// Progress is what the stage's progress file holds.
	Progress string
	// Injected is what people and hooks have put into the prompts at this place.
	Injected string

	ctx context.Context //nolint:containedctx // a hook is a call, and its signature is the seed's
}

// Context ends when the run is aborted, or stopped for longer than a hook may take.
func (c *HookContext) Context() context.Context { return c.ctx }

// IterationResult is the normal form of an iteration's result.json.
type IterationResult = result.Result

// callback is a hook of the program.
type callback struct {
	point plan.HookPoint
	call  func(*HookContext) HookResult
}

// callbacks are the hooks of the program. It is safe for concurrent use.
type callbacks struct {
	mu     sync.Mutex // guards:
	hooks  []callback
	resume []func(*HookContext, string) HookResult
}

func (c *callbacks) add(point plan.HookPoint, call func(*HookContext) HookResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks = append(c.hooks, callback{point, call})
}

// OnSessionStart calls a hook before the first stage of a session begins. Hooks are called one after the other in
// the order in which they were registered, after those of the pipeline itself, and the run waits for each. A hook
// that panics is logged and the run goes on, or does what [WithHookErrors] says. A hook is for the sessions that
// begin or are resumed after its registration.
func (e *Engine) OnSessionStart(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointSessionStart, hook)
}

// OnSessionEnd calls a hook when a session completes or fails; its answer has no effect. See [Engine.OnSessionStart].
func (e *Engine) OnSessionEnd(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointSessionEnd, hook)
}

// OnStageStart calls a hook before a stage, a block or a nested pipeline begins. See [Engine.OnSessionStart].
func (e *Engine) OnStageStart(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointStageStart, hook)
}

// OnStageEnd calls a hook after a stage, a block or a nested pipeline, before the run goes on from it. See
// [Engine.OnSessionStart].
func (e *Engine) OnStageEnd(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointStageEnd, hook)
}

// OnIterationStart calls a hook before each iteration. See [Engine.OnSessionStart].
func (e *Engine) OnIterationStart(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointIterationStart, hook)
}

// OnIterationEnd calls a hook after each iteration, before the termination strategy decides. See
// [Engine.OnSessionStart].
func (e *Engine) OnIterationEnd(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointIterationEnd, hook)
}

// OnParallelProviderStart calls a hook before a provider of a parallel block begins. See [Engine.OnSessionStart]; the
// providers of a block call hooks side by side.
func (e *Engine) OnParallelProviderStart(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointParallelProviderStart, hook)
}

// OnParallelProviderEnd calls a hook after a provider of a parallel block. See [Engine.OnParallelProviderStart].
func (e *Engine) OnParallelProviderEnd(hook func(*HookContext) HookResult) {
	e.callbacks.add(plan.PointParallelProviderEnd, hook)
}

// OnResume calls a hook when [Engine.Resume] takes a session up, with the text that was given to it, before anything
// goes on. ActionModifyContext replaces the text, which the next hook gets; ActionPause leaves the session as it
// is; ActionAbort ends it.
func (e *Engine) OnResume(hook func(hook *HookContext, input string) HookResult) {
	e.callbacks.mu.Lock()
	defer e.callbacks.mu.Unlock()
	e.callbacks.resume = append(e.callbacks.resume, hook)
}

// snapshot is what the hooks of a session are, from now on.
func (c *callbacks) snapshot() (hooks []callback, resume []func(*HookContext, string) HookResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(hooks, c.hooks...), append(resume, c.resume...)
}

// caller calls the hooks of the session.
func (s *session) caller() *hook.Caller {
	c := &hook.Caller{
		Plan: s.plan, Project: s.engine.project, Dir: s.dir, Actions: s.components(), Log: s.engine.log.Named("hook"), Redactor: s.redactor,
		OnError: s.engine.config.hookErrors,
	}
	for _, registered := range s.callbacks {
		c.Callbacks = append(c.Callbacks, func(ctx context.Context, m hook.Moment) (sdk.HookAnswer, error) {
			r := registered.call(s.hookContext(ctx, m))
			return sdk.HookAnswer{Action: r.Action, Reason: r.Reason, Context: r.Context}, nil
		})
	}
	return c
}

// maxProgress bounds what a hook is handed of a progress file, in bytes.
const maxProgress = 4 << 20

func (s *session) hookContext(ctx context.Context, m hook.Moment) *HookContext {
	st := m.State.Clone()
	h := &HookContext{
		Point: plan.HookPoint(m.Request.Point), Session: m.Request.Session, Stage: m.Request.Node, Iteration: m.Request.Iteration,
		Provider: m.Request.Provider, Status: m.Request.Status, State: &st, Injected: m.Request.Context, ctx: ctx,
	}
	if len(m.Request.Result) > 0 {
		var r IterationResult
		if json.Unmarshal(m.Request.Result, &r) == nil { // the attempt normalized it
			h.Result = &r
		}
	}
	if m.Progress != "" {
		if text, err := s.dir.Read(m.Progress, maxProgress); err == nil { // there is none before the first iteration
			h.Progress = string(text)
		}
	}
	return h
}

// callbackPoints are the points of the session's callbacks, for the journal.
func (s *session) callbackPoints() []string {
	var points []string
	for _, c := range s.callbacks {
		points = append(points, string(c.point))
	}
	return points
}

// resumed calls the OnResume hooks with the text that was given. It returns the text for the prompts, and what they
// ask for beyond it, nil for nothing.
func (s *session) resumed(ctx context.Context, text string) (said string, then *event.Event) {
	ask := func(action string, r HookResult) *event.Event {
		e := event.New(event.Control, nil, "", event.ControlData{
			ID: newID(), Action: action, Kind: string(state.PauseHook), Reason: event.Truncate(r.Reason, event.MaxText), By: "OnResume",
		})
		return &e
	}
	st := s.state.Clone()
	for _, call := range s.resuming {
		r := s.callResume(call, &HookContext{Session: s.name, Status: string(st.Status), State: &st, Injected: st.Context, ctx: ctx}, text)
		switch r.Action {
		case ActionModifyContext:
			text = r.Context
		case ActionPause:
			return text, ask("pause", r)
		case ActionAbort:
			return text, ask("abort", r)
		}
	}
	return text, nil
}

// callResume calls one hook. One that panics is as if it were not there, or does what the engine's option says.
func (s *session) callResume(call func(*HookContext, string) HookResult, h *HookContext, text string) (r HookResult) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an OnResume hook panicked", "panic", p)
			r = HookResult{Action: HookAction(s.engine.config.hookErrors), Reason: fmt.Sprint("an OnResume hook panicked: ", p)}
		}
	}()
	return call(h, text)
}
