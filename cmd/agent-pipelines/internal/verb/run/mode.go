package run

import (
	"context"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// backgroundFlags selects where a session runs: in this terminal, detached, or in tmux.
type backgroundFlags struct {
	Foreground bool `aliases:"no-tmux" help:"Run in this terminal (also: --no-tmux)."`
	Detach     bool `help:"Run in the background, as a process without a terminal."`
	Tmux       bool `help:"Run in the background, in tmux (default)."`
}

// background returns where to run: as set by the flags, else by the project's config.yaml, else by the user's, else in tmux.
// With CI=true the project's setting is ignored and the default is the foreground.
func (f *backgroundFlags) background(ctx context.Context, a *cli.App) (authoring.Background, error) {
	mode, err := f.selected()
	if err != nil || mode != authoring.BackgroundUnset {
		return mode, err
	}
	ci := a.Getenv("CI") == "true"
	err = a.WithEngine(ctx, func(e *engine.Engine) error { mode = e.Authoring().Background(ci); return nil })
	switch {
	case err != nil || mode != authoring.BackgroundUnset:
		return mode, err
	case ci:
		return authoring.BackgroundOff, nil
	default:
		return authoring.BackgroundTmux, nil
	}
}

// selected returns the mode set by the flags, BackgroundUnset for none.
func (f *backgroundFlags) selected() (authoring.Background, error) {
	mode, count := authoring.BackgroundUnset, 0
	for _, flag := range []struct {
		set  bool
		mode authoring.Background
	}{{f.Foreground, authoring.BackgroundOff}, {f.Detach, authoring.BackgroundDetach}, {f.Tmux, authoring.BackgroundTmux}} {
		if flag.set {
			mode = flag.mode
			count++
		}
	}
	if count > 1 {
		return "", cli.UsageError("--foreground, --detach and --tmux contradict each other", "give one of them, or none")
	}
	return mode, nil
}

// cleanupFlag informs the process in a tmux pane that the starter killed an old tmux session.
type cleanupFlag struct {
	TmuxCleaned *int `hidden:"" placeholder:"PID" help:"Process id of the old tmux session that was killed."`
}

// notes returns the events for the session's journal.
func (f *cleanupFlag) notes() []event.Event {
	if f.TmuxCleaned == nil {
		return nil
	}
	return []event.Event{event.New(event.TmuxSessionCleaned, nil, "", struct {
		PID int `json:"pid,omitempty"` // of the old process, 0 if unknown
	}{*f.TmuxCleaned})}
}

// waitFlags selects whether a session waits for the answer to a question.
type waitFlags struct {
	Wait       bool `help:"Wait for answers instead of pausing; a terminal prompts in any case."`
	Unattended bool `hidden:"" help:"Do not prompt at the terminal, except with --wait."`
}

// maxArgument returns a number of iterations as an argument, none for nil.
func maxArgument(n *int) []string {
	if n == nil {
		return nil
	}
	return []string{strconv.Itoa(*n)}
}
