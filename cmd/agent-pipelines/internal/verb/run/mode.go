package run

import (
	"context"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// PlaceFlags selects where a session runs: in this terminal, detached, or in tmux.
type PlaceFlags struct {
	Foreground bool `aliases:"no-tmux" help:"Run in this terminal (also: --no-tmux)."`
	Detach     bool `help:"Run in the background, as a process without a terminal."`
	Tmux       bool `help:"Run in the background, in tmux (default)."`
}

// Place returns where to run: as set by the flags, else by the project's config.yaml, else by the user's, else in tmux.
// With CI=true the project's setting is ignored and the default is the foreground.
func (f *PlaceFlags) Place(ctx context.Context, a *cli.App) (engine.Background, error) {
	mode, err := f.said()
	if err != nil || mode != engine.BackgroundUnset {
		return mode, err
	}
	ci := a.Getenv("CI") == "true"
	err = a.Use(ctx, func(e *engine.Engine) error { mode = e.Background(ci); return nil })
	switch {
	case err != nil || mode != engine.BackgroundUnset:
		return mode, err
	case ci:
		return engine.BackgroundOff, nil
	default:
		return engine.BackgroundTmux, nil
	}
}

// said returns the mode set by the flags, BackgroundUnset for none.
func (f *PlaceFlags) said() (engine.Background, error) {
	mode, count := engine.BackgroundUnset, 0
	for _, flag := range []struct {
		set  bool
		mode engine.Background
	}{{f.Foreground, engine.BackgroundOff}, {f.Detach, engine.BackgroundDetach}, {f.Tmux, engine.BackgroundTmux}} {
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

// cleanedFlag informs the process in a tmux pane that the starter killed an old tmux session.
type cleanedFlag struct {
	TmuxCleaned *int `hidden:"" placeholder:"PID" help:"Process id of the old tmux session that was killed."`
}

// notes returns the events for the session's journal.
func (f *cleanedFlag) notes() []event.Event {
	if f.TmuxCleaned == nil {
		return nil
	}
	return []event.Event{event.New(event.TmuxSessionCleaned, nil, "", struct {
		PID int `json:"pid,omitempty"` // of the old process, 0 if unknown
	}{*f.TmuxCleaned})}
}

// WaitFlags selects whether a session waits for the answer to a question.
type WaitFlags struct {
	Wait       bool `help:"Wait for answers instead of pausing; a terminal prompts in any case."`
	Unattended bool `hidden:"" help:"Do not prompt at the terminal, except with --wait."`
}

// maximum returns a number of iterations as an argument, none for nil.
func maximum(n *int) []string {
	if n == nil {
		return nil
	}
	return []string{strconv.Itoa(*n)}
}
