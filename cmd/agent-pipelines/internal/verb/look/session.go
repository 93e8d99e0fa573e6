package look

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Session is the verb `session` with its subcommands history, rm and prune.
type Session struct {
	History sessionHistoryVerb `cmd:"" help:"List the visits of all stages in order."`
	Remove  sessionRemoveVerb  `cmd:"" name:"rm" help:"Remove sessions with all their files."`
	Prune   sessionPruneVerb   `cmd:"" help:"Remove all sessions that ended long ago."`
}

// sessionRemoveVerb is the verb `session rm <name>...`.
type sessionRemoveVerb struct {
	Sessions []string `arg:"" name:"session" help:"The sessions to remove."`
	Yes      bool     `short:"y" help:"Do not ask."`
}

// Run implements [cli.Verb].
func (v *sessionRemoveVerb) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		var chosen []engine.SessionInfo
		for _, name := range slices.Compact(slices.Sorted(slices.Values(v.Sessions))) {
			i := slices.IndexFunc(all, func(s engine.SessionInfo) bool { return s.Session == name })
			if i < 0 {
				_, err := e.Status(name) // its error describes an invalid name better
				return cmp.Or(err, cli.UsageError(fmt.Sprintf("'%s' is no session of this directory", name), "%s list shows them", cli.Program))
			}
			chosen = append(chosen, all[i])
		}
		return removeSessions(ctx, a, e, chosen, v.Yes)
	})
}

// sessionPruneVerb is the verb `session prune`.
type sessionPruneVerb struct {
	Older  cli.Age  `default:"30d" placeholder:"AGE" help:"Remove only sessions unchanged for this time, such as 30d, 2w or 36h (default 30d)."`
	Status []string `default:"completed,aborted" placeholder:"STATUS" help:"Remove only sessions with one of these statuses (default completed,aborted)."`
	DryRun bool     `help:"List the sessions without removing them."`
	Yes    bool     `short:"y" help:"Do not ask."`
}

// Run implements [cli.Verb].
func (v *sessionPruneVerb) Run(ctx context.Context, a *cli.App) error {
	if err := checkStatuses(v.Status); err != nil {
		return err
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		before := time.Now().Add(-time.Duration(v.Older))
		chosen := slices.DeleteFunc(all, func(s engine.SessionInfo) bool {
			return !s.Modified.Before(before) || !slices.Contains(v.Status, screen.StatusWord(s.Status, s.Crashed)) || isHeld(e, s.Session)
		})
		if v.DryRun {
			reportRemoved(a, nil, chosen)
			return nil
		}
		return removeSessions(ctx, a, e, chosen, v.Yes)
	})
}

// isHeld reports whether a process runs a session. It is false for an unreadable session, whose removal returns the error.
func isHeld(e *engine.Engine, session string) bool {
	s, err := e.Status(session)
	return err == nil && s.Locked
}

// removeSessions removes sessions after a confirmation by the user.
func removeSessions(ctx context.Context, a *cli.App, e *engine.Engine, chosen []engine.SessionInfo, yes bool) error {
	if len(chosen) > 0 && !yes {
		agreed, err := confirmRemoval(a, chosen)
		if err != nil || !agreed {
			if err == nil && a.JSON {
				reportRemoved(a, nil, nil)
			}
			return err
		}
	}
	var removed []engine.SessionInfo
	var errs []error
	for _, s := range chosen {
		if err := e.RemoveSession(ctx, s.Session); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, s)
	}
	if len(errs) == 0 || len(removed) > 0 && !a.JSON { // with --json only one object: the error
		reportRemoved(a, removed, nil)
	}
	return errors.Join(errs...)
}

// confirmRemoval asks the user at the terminal for confirmation. Without a terminal it is an error.
func confirmRemoval(a *cli.App, chosen []engine.SessionInfo) (bool, error) {
	if !a.Interactive() {
		return false, cli.UsageError(fmt.Sprintf("removing %s needs a confirmation, and there is no terminal", screen.Plural(len(chosen), "session")),
			"add --yes")
	}
	writeSessions(a.Stderr, chosen, time.Now())
	fmt.Fprintf(a.Stderr, "\nRemove %s with all files? [y/N] ", screen.Plural(len(chosen), "session"))
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	agreed := slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
	if !agreed {
		fmt.Fprintln(a.Stderr, "Nothing was removed.")
	}
	return agreed, nil
}

// reportRemoved prints the removed sessions, and the ones that would be removed.
func reportRemoved(a *cli.App, removed, would []engine.SessionInfo) {
	a.Print(document.Removed{Removed: sessionNames(removed), Would: sessionNames(would)}, func(to io.Writer) {
		for _, s := range removed {
			fmt.Fprintf(to, "Removed session '%s' (%s)\n", s.Session, screen.StatusWord(s.Status, s.Crashed))
		}
		for _, s := range would {
			fmt.Fprintf(to, "Would remove session '%s' (%s, changed %s ago)\n", s.Session, screen.StatusWord(s.Status, s.Crashed), screen.Age(time.Since(s.Modified)))
		}
		if len(removed)+len(would) == 0 {
			fmt.Fprintln(to, "No sessions to remove.")
		}
	})
}

func sessionNames(sessions []engine.SessionInfo) []string {
	list := []string{}
	for _, s := range sessions {
		list = append(list, s.Session)
	}
	return list
}
