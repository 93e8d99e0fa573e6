package main

import (
	"context"
	"errors"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// resumeVerb is `resume <session>`.
type resumeVerb struct {
	Session    string `arg:"" help:"The session to go on with."`
	Context    string `help:"Text for the agents' next prompts."`
	Force      bool   `help:"Take the session over from another process that holds it."`
	Foreground bool   `hidden:"" aliases:"no-tmux" help:"The default."`
}

func (v *resumeVerb) run(ctx context.Context, a *app) error {
	return a.resume(ctx, kernel.ResumeOptions{Session: v.Session, Context: v.Context, Force: v.Force})
}

// resume serves --resume of the verbs that start a session.
func (f *runFlags) resume(ctx context.Context, a *app, session string) error {
	o := kernel.ResumeOptions{Session: session, Context: f.Context, Force: f.Force}
	if ignored := f.ignoredOnResume(); ignored != "" {
		return a.resume(ctx, o, ignored)
	}
	return a.resume(ctx, o)
}

func (a *app) resume(ctx context.Context, o kernel.ResumeOptions, say ...string) error {
	o.By = a.user()
	err := a.perform(ctx, func(ctx context.Context, e *kernel.Engine, observe func(kernel.Update)) (*kernel.Result, error) {
		o.Observe = observe
		return e.Resume(ctx, o)
	}, say...)
	if errors.Is(err, kernel.ErrNoSession) {
		missing := failure.New(failure.SessionState, "cannot resume - no previous session '%s' found", o.Session)
		missing.Cause = kernel.ErrNothingToResume
		return missing.WithHint("%s list shows the sessions of this directory", program)
	}
	return err
}

// user is who acts, for the journal.
func (a *app) user() string { return orElse(a.getenv("USER"), a.getenv("LOGNAME")) }
