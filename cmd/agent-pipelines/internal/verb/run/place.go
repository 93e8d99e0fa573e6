package run

import (
	"context"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// PlaceFlags say where a session runs.
type PlaceFlags struct {
	Foreground bool `aliases:"no-tmux" help:"Run in this terminal (also: --no-tmux)."`
	Detach     bool `help:"Run in the background, as a process without a terminal."`
	Tmux       bool `help:"Run in the background, in a tmux session. This is the default."`
}

// Place is where to run: as the flags say, else the project's config.yaml, else the user's, else in tmux.
// Where CI=true the project's does not count, and the foreground is what is left.
func (f *PlaceFlags) Place(ctx context.Context, a *cli.App) (engine.Background, error) {
	said, err := f.said()
	if err != nil || said != engine.BackgroundUnset {
		return said, err
	}
	ci := a.Getenv("CI") == "true"
	err = a.Use(ctx, func(e *engine.Engine) error { said = e.Background(ci); return nil })
	switch {
	case err != nil || said != engine.BackgroundUnset:
		return said, err
	case ci:
		return engine.BackgroundOff, nil
	default:
		return engine.BackgroundTmux, nil
	}
}

// said is what the flags say alone.
func (f *PlaceFlags) said() (engine.Background, error) {
	said, count := engine.BackgroundUnset, 0
	for _, flag := range []struct {
		given bool
		means engine.Background
	}{{f.Foreground, engine.BackgroundOff}, {f.Detach, engine.BackgroundDetach}, {f.Tmux, engine.BackgroundTmux}} {
		if flag.given {
			said = flag.means
			count++
		}
	}
	if count > 1 {
		return "", cli.UsageError("--foreground, --detach and --tmux contradict each other", "give one of them, or none")
	}
	return said, nil
}

// cleanedFlag tells the kernel in a tmux pane what was cleaned away for it.
type cleanedFlag struct {
	TmuxCleaned *int `hidden:"" placeholder:"PID" help:"A tmux session of this name was ended, and the process of this id had run in it."`
}

// notes are for the session's journal.
func (f *cleanedFlag) notes() []event.Event {
	if f.TmuxCleaned == nil {
		return nil
	}
	return []event.Event{event.New(event.TmuxSessionCleaned, nil, "", struct {
		PID int `json:"pid,omitempty"` // of the kernel that had run there, if it is known
	}{*f.TmuxCleaned})}
}

// WaitFlags say what happens when a person is asked.
type WaitFlags struct {
	Wait       bool `help:"When a person is asked, wait for the answer instead of pausing. At a terminal you are asked there anyway."`
	Unattended bool `hidden:"" help:"Nobody watches the terminal: do not ask there, unless --wait says to wait."`
}

// maximum is a number of iterations as a word, none for nil.
func maximum(n *int) []string {
	if n == nil {
		return nil
	}
	return []string{strconv.Itoa(*n)}
}
