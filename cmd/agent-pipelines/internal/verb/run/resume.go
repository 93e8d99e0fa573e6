package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Resume is the verb `resume <session>`.
type Resume struct {
	Session        string `arg:"" help:"The session to resume."`
	Context        string `help:"Text for the next iteration, appended to $${CONTEXT} or, without it, to the prompt."`
	Force          bool   `help:"Take the session over from another process; grant a run past its time limit (guardrails) the same time again."`
	SkipFailedStep bool   `help:"Count failed steps as done."`
	ResetCycles    bool   `help:"Reset the counts of cycles to earlier stages."`
	By             string `hidden:"" help:"User to record in the journal (default the current one)."`
	foregroundFlags
	cleanupFlag
	waitFlags
	SandboxFlags
}

// foregroundFlags is backgroundFlags for verbs whose default is the foreground.
type foregroundFlags struct {
	Foreground bool `hidden:"" aliases:"no-tmux" help:"The default."`
	Detach     bool `help:"Run in the background, as a process without a terminal."`
	Tmux       bool `help:"Run in the background, in tmux."`
}

// Run implements [cli.Verb].
func (v *Resume) Run(ctx context.Context, a *cli.App) error {
	flags := backgroundFlags(v.foregroundFlags)
	mode, err := flags.selected()
	if err != nil {
		return err
	}
	sandbox, err := v.policy()
	if err != nil {
		return err
	}
	o := engine.ResumeOptions{
		Session: v.Session, Context: v.Context, Force: v.Force, Wait: v.Wait, Sandbox: sandbox, Notes: v.notes(),
		SkipFailedStep: v.SkipFailedStep, ResetCycles: v.ResetCycles, By: v.By,
	}
	a.Unattended = v.Unattended
	return ResumeSession(ctx, a, cmp.Or(mode, authoring.BackgroundOff), o)
}

// resume implements --resume of the verbs that start a session. o names the session; further lists flags of the verb that
// a resume ignores.
func (f *Flags) resume(ctx context.Context, a *cli.App, o engine.ResumeOptions, further ...string) error {
	place, err := f.background(ctx, a)
	if err != nil {
		return err
	}
	if o.Sandbox, err = f.policy(); err != nil {
		return err
	}
	o.Context, o.Force, o.Wait = f.Context, f.Force, f.Wait
	a.Unattended = f.Unattended
	if ignored := f.ignoredOnResume(further); ignored != "" {
		return ResumeSession(ctx, a, place, o, ignored)
	}
	return ResumeSession(ctx, a, place, o)
}

// ResumeSession resumes a session in this terminal or in the background. The view shows the lines say first.
func ResumeSession(ctx context.Context, a *cli.App, at authoring.Background, o engine.ResumeOptions, say ...string) error {
	o.By = cmp.Or(o.By, a.User())
	var err error
	if at == authoring.BackgroundOff {
		err = resumeHere(ctx, a, o, say...)
	} else {
		err = resumeElsewhere(ctx, a, at, o, say...)
	}
	if errors.Is(err, engine.ErrNoSession) {
		missing := failure.New(failure.SessionState, "cannot resume - no previous session '%s' found", o.Session)
		missing.Cause = engine.ErrNothingToResume
		if nearest := (*failure.Error)(nil); errors.As(err, &nearest) {
			return missing.WithHint("%s", nearest.Hint) // names the nearest session
		}
		return missing.WithHint("%s list shows the sessions of this directory", cli.Program)
	}
	return err
}

func resumeElsewhere(ctx context.Context, a *cli.App, at authoring.Background, o engine.ResumeOptions, say ...string) error {
	for _, line := range say {
		fmt.Fprintln(a.Stderr, line)
	}
	return inBackground(ctx, a, startRequest{
		at: at, session: o.Session, force: o.Force,
		check: func(ctx context.Context, e *engine.Engine) (*engine.PreflightResult, error) {
			return e.PreflightResume(ctx, o)
		},
		command: func(session string, more ...string) []string {
			if o.Context != "" {
				more = append(more, "--context="+o.Context)
			}
			if o.Force {
				more = append(more, "--force")
			}
			if o.Wait {
				more = append(more, "--wait")
			}
			if o.SkipFailedStep {
				more = append(more, "--skip-failed-step")
			}
			if o.ResetCycles {
				more = append(more, "--reset-cycles")
			}
			more = append(more, sandboxArguments(o.Sandbox)...)
			if o.Rerun != "" {
				return a.ForegroundArguments("review", append(more, reviewArguments(o)...), []string{session})
			}
			return a.ForegroundArguments("resume", append(more, "--by="+o.By), []string{session})
		},
	})
}

func resumeHere(ctx context.Context, a *cli.App, o engine.ResumeOptions, say ...string) error {
	return perform(ctx, a, o.Wait, func(ctx context.Context, e *engine.Engine, wait bool, observe func(engine.Update)) (*engine.Result, error) {
		o.Wait, o.Observe = wait, observe
		return e.Resume(ctx, o)
	}, say...)
}
