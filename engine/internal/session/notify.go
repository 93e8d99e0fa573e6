package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

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

// checkNotify validates the notify entries of the settings with their actions.
func (s *session) checkNotify(ctx context.Context) error {
	var errs []error
	for _, n := range s.notifications() {
		action, err := s.notifyAction(ctx, n)
		if err == nil {
			err = validateAction(ctx, action, n.Config)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("notify at %s: %w", n.At, hintNotifyKeys(err)))
		}
	}
	return errors.Join(errs...)
}

// hintNotifyKeys adds the keys common to all notify entries to an error about an action's keys.
func hintNotifyKeys(err error) error {
	var f *failure.Error
	if !errors.As(err, &f) || f.Kind != failure.ConfigInvalid || f.Hint != "" {
		return err
	}
	return f.WithHint("use the action's own keys, or action, on, repeat and timeout")
}
