package session

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// callbackPoints returns the points of the session's callbacks, for the journal.
func (s *session) callbackPoints() []string {
	var points []string
	for _, c := range s.hooks.Callbacks {
		points = append(points, string(c.Point))
	}
	return points
}

// callResumeHooks calls the OnResume hooks with the text of the resume. It returns the text for the prompts
// and, if a hook pauses or aborts, the control event for it.
func (s *session) callResumeHooks(ctx context.Context, text string) (prompt string, control *event.Event) {
	controlEvent := func(action string, r sdk.HookAnswer) *event.Event {
		e := event.New(event.Control, nil, "", event.ControlData{
			ID: NewID(), Action: action, Kind: string(state.PauseHook), Reason: event.Truncate(r.Reason, event.MaxText), By: "OnResume",
		})
		return &e
	}
	for _, call := range s.hooks.Resume {
		r := s.callResume(ctx, call, text)
		switch r.Action {
		case sdk.ActionModifyContext:
			text = r.Context
		case sdk.ActionPause:
			return text, controlEvent("pause", r)
		case sdk.ActionAbort:
			return text, controlEvent("abort", r)
		}
	}
	return text, nil
}

// callResume calls one hook. If it panics, the engine's option decides; by default it is ignored.
func (s *session) callResume(ctx context.Context, call ResumeHook, text string) (r sdk.HookAnswer) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("an OnResume hook panicked", "panic", p)
			r = sdk.HookAnswer{Action: sdk.Action(s.engine.env.Config.HookErrors), Reason: fmt.Sprint("an OnResume hook panicked: ", p)}
		}
	}()
	return call(ctx, s.state.Clone(), text)
}

// startNotifier sends the notifications of the settings until the session is closed.
func (s *session) startNotifier() {
	s.notifier = notify.New(notify.Config{
		Entries: s.notifications(), Action: s.notifyAction, WorkDir: s.engine.env.Project.Path(), Program: s.engine.env.Config.Program,
		Log: s.engine.env.Log.Named("notify"), Report: s.deferInfo,
	})
	s.closers = append(s.closers, s.notifier.Close)
}

// notifications returns the notify entries of the settings.
func (s *session) notifications() []settings.Notification {
	if s.engine.env.Config.NoNotify {
		return nil
	}
	return s.engine.env.Settings.Layers().Notify()
}

// notifyAction finds the action of an entry. The action gets the environment variables that the entry names;
// the pipeline's policies do not apply.
func (s *session) notifyAction(ctx context.Context, n settings.Notification) (sdk.HookAction, error) {
	use := pluginhost.Use{Names: pluginhost.ReferencedEnv(n.Config)}
	var err error
	if use.Sandbox, err = s.sandboxSettings().Resolve(ctx, s.host, sdk.KindHookAction, n.Action, nil); err != nil {
		return nil, err
	}
	return s.host.HookAction(ctx, n.Action, use)
}
