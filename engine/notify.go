package engine

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// watch lets those be told whom the settings name, from now on until the session is closed.
func (s *session) watch() {
	s.notifier = notify.New(notify.Config{
		Entries: s.told(), Action: s.notifyAction, WorkDir: s.engine.project.Path(),
		Log: s.engine.log.Named("notify"), Report: s.noteLater,
	})
	s.closers = append(s.closers, s.notifier.Close)
}

// told are those whom the settings name.
func (s *session) told() []settings.Notification {
	if s.engine.config.noNotify {
		return nil
	}
	return s.engine.settings.layers().Notify()
}

// notifyAction finds the action of an entry. It gets the variables that the entry names; the policies of the pipeline
// are about the pipeline.
func (s *session) notifyAction(ctx context.Context, n settings.Notification) (sdk.HookAction, error) {
	use := pluginhost.Use{Names: pluginhost.ReferencedEnv(n.Config)}
	var err error
	if use.Sandbox, err = s.sandboxes().of(ctx, s.host, sdk.KindHookAction, n.Action, nil); err != nil {
		return nil, err
	}
	return s.host.HookAction(ctx, n.Action, use)
}

// checkNotify asks the actions of the settings whether they would work.
func (s *session) checkNotify(ctx context.Context) error {
	var errs []error
	for _, n := range s.told() {
		action, err := s.notifyAction(ctx, n)
		if err == nil {
			err = validate(ctx, action, n.Config)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("notify at %s: %w", n.At, withKeys(err)))
		}
	}
	return errors.Join(errs...)
}

// withKeys says beside the words of an action that refuses its keys which others an entry may have.
func withKeys(err error) error {
	var f *failure.Error
	if !errors.As(err, &f) || f.Kind != failure.ConfigInvalid || f.Hint != "" {
		return err
	}
	return f.WithHint("beside the action's own keys an entry of notify has action, on, repeat and timeout")
}
