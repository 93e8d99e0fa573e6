package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// tailLines is the default number of past events, as in the Bash engine.
const tailLines = 50

// Tail is the verb `tail <session> [lines]`.
type Tail struct {
	Session string  `arg:"" help:"The session to read."`
	Count   *uint32 `arg:"" name:"lines" optional:"" help:"Number of past events to print first; 0: only new ones (default 50)."`
	Lines   *uint32 `name:"lines" placeholder:"N" help:"Same as lines, as a flag."`
	Follow  *bool   `short:"f" negatable:"" help:"Wait for more events, or do not (default: while the session runs)."`
	eventFilter
}

// Run implements [cli.Verb].
func (v *Tail) Run(ctx context.Context, a *cli.App) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, even if its output blocks
	err := a.WithEngine(ctx, func(e *engine.Engine) error {
		if v.isSet() {
			return v.printFiltered(ctx, a, e)
		}
		if v.Follow != nil { // explicit, whether or not a process runs the session
			return e.Tail(ctx, v.Session, v.lines(), *v.Follow, func(e event.Event) error { return PrintEvent(a, e) })
		}
		return e.Follow(ctx, v.Session, v.lines(), func(u engine.Update) error { return PrintEvent(a, *u.Event) })
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // a signal ends the display
	}
	return err
}

func (v *Tail) lines() int {
	if n := cmp.Or(v.Lines, v.Count); n != nil {
		return int(*n)
	}
	return tailLines
}

// PrintEvent prints an event as a line of text, or with --json as its line in the journal.
func PrintEvent(a *cli.App, e event.Event) error {
	if !a.JSON {
		_, err := fmt.Fprintf(a.Stdout, "[%s] %s\n", e.Time.Local().Format("15:04:05"), screen.Details(e))
		return err
	}
	line, err := e.AppendLine(nil)
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(line)
	return err
}

// eventFilter holds the flags that filter the events of a session.
type eventFilter struct {
	Stage      string `placeholder:"ID" complete:"node" help:"Print only events of this stage and its embedded stages."`
	Iteration  uint32 `placeholder:"N" help:"Print only events of iterations with this number."`
	WithOutput bool   `help:"Also print the agent's output after each iteration."`
}

// isSet reports whether a flag is set.
func (b *eventFilter) isSet() bool { return b.Stage != "" || b.Iteration != 0 || b.WithOutput }

// printFiltered prints the last events that pass the filter, and follows new ones.
func (v *Tail) printFiltered(ctx context.Context, a *cli.App, e *engine.Engine) error {
	s, err := e.Status(v.Session)
	if err != nil {
		return err
	}
	paths, err := v.paths(s)
	if err != nil {
		return err
	}
	show := func(ev event.Event) error {
		if !v.matches(ev, paths) {
			return nil
		}
		if err := PrintEvent(a, ev); err != nil || !v.WithOutput || a.JSON {
			return err
		}
		return printOutput(a.Stdout, s.Dir, ev)
	}
	var last int64
	var kept []event.Event
	err = e.Tail(ctx, v.Session, -1, false, func(ev event.Event) error {
		last = ev.Seq
		if v.matches(ev, paths) {
			kept = append(kept, ev)
			kept = kept[max(len(kept)-v.lines(), 0):]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, ev := range kept {
		if err := show(ev); err != nil {
			return err
		}
	}
	showNew := func(ev event.Event) error {
		if ev.Seq <= last {
			return nil
		}
		return show(ev)
	}
	if v.Follow != nil {
		if !*v.Follow {
			return nil
		}
		return e.Tail(ctx, v.Session, -1, true, showNew)
	}
	return e.Follow(ctx, v.Session, -1, func(u engine.Update) error { return showNew(*u.Event) })
}

// paths returns the paths of the stages with the id b.Stage, nil for all stages.
func (b *eventFilter) paths(s *engine.Status) ([]string, error) {
	if b.Stage == "" {
		return nil, nil
	}
	var paths, ids []string
	for _, stage := range s.Stages {
		ids = append(ids, stage.ID)
		if stage.ID == b.Stage {
			paths = append(paths, stage.Path)
		}
	}
	if len(paths) == 0 {
		return nil, cli.UsageError(fmt.Sprintf("session '%s' has no stage '%s'", s.Session, b.Stage), "it has %s", strings.Join(ids, ", "))
	}
	return paths, nil
}

// matches reports whether an event passes the filter.
func (b *eventFilter) matches(e event.Event, paths []string) bool {
	c := e.Cursor
	switch {
	case c == nil, strings.HasPrefix(string(e.Type), "session_"): // the cursor of such an event is the session's position
		return paths == nil && b.Iteration == 0
	case b.Iteration != 0 && c.Iteration != int(b.Iteration):
		return false
	default:
		return paths == nil || slices.ContainsFunc(paths, func(p string) bool { return c.NodePath == p || strings.HasPrefix(c.NodePath, p+".") })
	}
}

// printOutput prints the agent's output of an iteration after its last event. dir is the session's directory.
func printOutput(to io.Writer, dir string, e event.Event) error {
	if e.Type != event.IterationComplete {
		return nil
	}
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil || d.Output == nil {
		return nil //nolint:nilerr // PrintEvent printed the unreadable event
	}
	text, _, err := readWithin(dir, filepath.FromSlash(d.Output.Path), math.MaxInt64-1)
	if err != nil {
		fmt.Fprintf(to, "  (its output cannot be read: %v)\n", err)
		return nil
	}
	for _, line := range screen.Lines(text) {
		if _, err := fmt.Fprintln(to, strings.TrimRight("  │ "+line, " ")); err != nil {
			return err
		}
	}
	return nil
}
