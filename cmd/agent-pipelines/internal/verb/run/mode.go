package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// backgroundFlags selects where a session runs: in this terminal, detached, or in tmux.
type backgroundFlags struct {
	Foreground bool `aliases:"no-tmux" xor:"place" help:"Run in this terminal (also: --no-tmux)."`
	Detach     bool `xor:"place" help:"Run in the background, as a process without a terminal."`
	Tmux       bool `xor:"place" help:"Run in the background, in tmux (default)."`
}

// selected returns the place that the flags select, BackgroundUnset for none.
func (f backgroundFlags) selected() authoring.Background {
	switch {
	case f.Foreground:
		return authoring.BackgroundOff
	case f.Detach:
		return authoring.BackgroundDetach
	case f.Tmux:
		return authoring.BackgroundTmux
	default:
		return authoring.BackgroundUnset
	}
}

// background returns where to run: as set by the flags, else by the project's config.yaml, else by the user's
// config.yaml, else in tmux. With CI=true the project's setting is ignored and the default is the foreground.
func (f backgroundFlags) background(ctx context.Context, a *cli.App) (at authoring.Background, err error) {
	if at = f.selected(); at != authoring.BackgroundUnset {
		return at, nil
	}
	ci, otherwise := a.Getenv("CI") == "true", authoring.BackgroundTmux
	if ci {
		otherwise = authoring.BackgroundOff
	}
	err = a.WithEngine(ctx, func(e *engine.Engine) error { at = e.Authoring().Background(ci); return nil })
	return cmp.Or(at, otherwise), err
}

// start starts a session in the place that the flags or the settings select.
func (f backgroundFlags) start(ctx context.Context, a *cli.App, r startRequest) error {
	at, err := f.background(ctx, a)
	if err != nil {
		return err
	}
	return startSession(ctx, a, at, r)
}

// foregroundFlags is backgroundFlags for verbs whose default is the foreground.
type foregroundFlags struct {
	Foreground bool `hidden:"" aliases:"no-tmux" xor:"place" help:"The default."`
	Detach     bool `xor:"place" help:"Run in the background, as a process without a terminal."`
	Tmux       bool `xor:"place" help:"Run in the background, in tmux."`
}

// start starts a session in the place that the flags select.
func (f foregroundFlags) start(ctx context.Context, a *cli.App, r startRequest) error {
	return startSession(ctx, a, cmp.Or(backgroundFlags(f).selected(), authoring.BackgroundOff), r)
}

// startSession runs a session in this process, or starts another process for it.
func startSession(ctx context.Context, a *cli.App, at authoring.Background, r startRequest) error {
	if r.Resume != nil {
		r.Resume.By = cmp.Or(r.Resume.By, a.User())
	}
	var err error
	if at == authoring.BackgroundOff {
		err = perform(ctx, a, r)
	} else {
		err = inBackground(ctx, a, at, r)
	}
	if r.Resume == nil || !errors.Is(err, engine.ErrNoSession) {
		return err
	}
	missing := failure.New(failure.SessionState, "cannot resume - no previous session '%s' found", r.Resume.Session)
	missing.Cause = engine.ErrNothingToResume
	if nearest := (*failure.Error)(nil); errors.As(err, &nearest) {
		return missing.WithHint("%s", nearest.Hint) // also names the nearest session, if there is one
	}
	return missing.WithHint("%s list shows the sessions of this directory", cli.Program)
}

// ResumeSession resumes a session in this terminal.
func ResumeSession(ctx context.Context, a *cli.App, o engine.ResumeOptions) error {
	return startSession(ctx, a, authoring.BackgroundOff, startRequest{Resume: &o})
}

// ChildSession is the hidden verb `run-session [file]`: it removes the file and runs, unattended, the session that the
// [childArgs] in it describe.
type ChildSession struct {
	File string `arg:"" optional:"" help:"The arguments of the session (default standard input)."`
}

// Run implements [cli.Verb].
func (v *ChildSession) Run(ctx context.Context, a *cli.App) error {
	h, err := readChildArgs(v.File, a.Stdin)
	if err == nil && v.File != "" {
		err = os.Remove(v.File)
	}
	if err != nil {
		return err
	}
	if h.Request.Run == nil && h.Request.Resume == nil {
		return errors.New("the arguments describe no session: only this program starts run-session")
	}
	a.GlobalFlags, a.Unattended = h.Flags, true
	return startSession(ctx, a, authoring.BackgroundOff, h.Request)
}

// TmuxStart is the hidden verb `tmux-start`, the first process in a tmux pane: it takes environment and directory from
// [childArgs] and executes [ChildSession] with them.
type TmuxStart struct {
	File string `arg:"" help:"The arguments of the session."`
}

// Run implements [cli.Verb].
func (v *TmuxStart) Run(context.Context, *cli.App) error {
	h, err := readChildArgs(v.File, nil)
	if err != nil {
		return err
	}
	if err := os.Chdir(h.Dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	err = syscall.Exec(self, []string{self, SessionVerb, v.File}, paneEnvironment(h.Env, os.Environ()))
	return fmt.Errorf("start %s: %w", self, err)
}

// paneVariables lists the variables that describe the terminal, which the pane does not inherit from the starter.
var paneVariables = []string{"TMUX", "TMUX_PANE", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "LINES", "COLUMNS"}

// paneEnvironment returns the starter's environment with the terminal variables of the pane.
func paneEnvironment(starter, pane []string) []string {
	isPane := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(paneVariables, name)
	}
	env := slices.DeleteFunc(slices.Clone(starter), isPane)
	for _, entry := range pane {
		if isPane(entry) {
			env = append(env, entry)
		}
	}
	return env
}
