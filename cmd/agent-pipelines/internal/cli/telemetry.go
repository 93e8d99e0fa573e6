package cli

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/telemetry"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// traced tells plugins that spans are sent, where they are: of a session that telemetry follows, if the sampler takes its run.
func (a *App) traced() []engine.Option {
	return []engine.Option{engine.WithTraces(func(run event.TraceID) bool { return a.sent.Sampled(run) })}
}

// Telemetry sends traces and metrics of the session that runs, where the standard variables of OpenTelemetry ask for it:
// those of the user's environment, which no file of a project can set. What is wrong with it is said, and is no reason not
// to run.
func (a *App) Telemetry(ctx context.Context, e *engine.Engine, say func(string)) *telemetry.Session {
	settings, warnings := telemetry.FromEnvironment(a.Getenv)
	for _, w := range warnings {
		say("Warning: " + w)
	}
	session, err := telemetry.Start(ctx, telemetry.Options{
		Settings: settings, Version: CurrentBuild().Version, Warn: func(w string) { say("Warning: " + w) },
		Follow: func(ctx context.Context, session string, observe func(engine.Update) error) error {
			return e.Follow(ctx, session, -1, observe)
		},
	})
	if err != nil {
		say("Warning: no telemetry is sent: " + err.Error())
	}
	a.sent = session
	return session
}
