package look

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// about are flags that choose among the events of a session.
type about struct {
	Stage      string `placeholder:"ID" complete:"node" help:"Only events of this stage, and of what it embeds."`
	Iteration  int    `placeholder:"N" help:"Only events of iterations of this number."`
	WithOutput bool   `help:"Also print what the agent said, after the event that ends its iteration."`
}

// asked says whether there is anything to choose.
func (b *about) asked() bool { return b.Stage != "" || b.Iteration != 0 || b.WithOutput }

// some prints the last of the events that are asked for, and those to come.
func (v *Tail) some(ctx context.Context, a *cli.App, e *engine.Engine) error {
	if v.Iteration < 0 {
		return cli.UsageError("no iteration has a negative number", "they count from 1")
	}
	s, err := e.Status(v.Session)
	if err != nil {
		return err
	}
	paths, err := v.paths(s)
	if err != nil {
		return err
	}
	take := func(ev event.Event) error {
		if !v.has(ev, paths) {
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
		if v.has(ev, paths) {
			kept = append(kept, ev)
			kept = kept[max(len(kept)-v.lines(), 0):]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, ev := range kept {
		if err := take(ev); err != nil {
			return err
		}
	}
	further := func(ev event.Event) error {
		if ev.Seq <= last {
			return nil
		}
		return take(ev)
	}
	if v.Follow != nil {
		if !*v.Follow {
			return nil
		}
		return e.Tail(ctx, v.Session, -1, true, further)
	}
	return e.Follow(ctx, v.Session, -1, func(u engine.Update) error { return further(*u.Event) })
}

// paths are those of the stages with the id that is asked for, nil for any.
func (b *about) paths(s *engine.Status) ([]string, error) {
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

// has reports whether an event is one of those asked for.
func (b *about) has(e event.Event, paths []string) bool {
	c := e.Cursor
	switch {
	case c == nil, strings.HasPrefix(string(e.Type), "session_"): // whose cursor says where the session stood
		return paths == nil && b.Iteration == 0
	case b.Iteration != 0 && c.Iteration != b.Iteration:
		return false
	default:
		return paths == nil || slices.ContainsFunc(paths, func(p string) bool { return c.NodePath == p || strings.HasPrefix(c.NodePath, p+".") })
	}
}

// printOutput prints what the agent said in an iteration that an event ends. dir is the session's directory.
func printOutput(to io.Writer, dir string, e event.Event) error {
	if e.Type != event.IterationComplete {
		return nil
	}
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil || d.Output == nil {
		return nil // an event that cannot be read was printed
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	text, err := root.ReadFile(filepath.FromSlash(d.Output.Path))
	if err != nil {
		fmt.Fprintf(to, "  (its output cannot be read: %v)\n", err)
		return nil
	}
	for _, line := range screen.Lines(string(text)) {
		if _, err := fmt.Fprintln(to, strings.TrimRight("  │ "+line, " ")); err != nil {
			return err
		}
	}
	return nil
}
