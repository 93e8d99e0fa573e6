package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// sessionVerb is `session history`, `session rm` and `session prune`.
type sessionVerb struct {
	History sessionHistoryVerb `cmd:"" help:"Show every visit of every stage in order, and the way from each to the next."`
	Remove  sessionRemoveVerb  `cmd:"" name:"rm" help:"Remove sessions with all their files."`
	Prune   sessionPruneVerb   `cmd:"" help:"Remove all sessions that ended long ago."`
}

// sessionRemoveVerb is `session rm <name>...`.
type sessionRemoveVerb struct {
	Sessions []string `arg:"" name:"session" help:"The sessions to remove."`
	Yes      bool     `short:"y" help:"Do not ask."`
}

func (v *sessionRemoveVerb) run(ctx context.Context, a *app) error {
	return a.use(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		var chosen []engine.SessionInfo
		for _, name := range slices.Compact(slices.Sorted(slices.Values(v.Sessions))) {
			i := slices.IndexFunc(all, func(s engine.SessionInfo) bool { return s.Session == name })
			if i < 0 { // says what is wrong with the name
				_, err := e.Status(name)
				return orError(err, usageError(fmt.Sprintf("'%s' is no session of this directory", name), "%s list shows them", program))
			}
			chosen = append(chosen, all[i])
		}
		return a.remove(ctx, e, chosen, v.Yes)
	})
}

// sessionPruneVerb is `session prune`.
type sessionPruneVerb struct {
	Older  age      `default:"30d" placeholder:"AGE" help:"Only those that changed last longer ago than this, such as 30d, 2w or 36h. Default: 30d."`
	Status []string `default:"completed,aborted" placeholder:"STATUS" help:"Only those with one of these statuses. Default: completed,aborted."`
	DryRun bool     `help:"Only show which ones."`
	Yes    bool     `short:"y" help:"Do not ask."`
}

func (v *sessionPruneVerb) run(ctx context.Context, a *app) error {
	if err := checkStatuses(v.Status); err != nil {
		return err
	}
	return a.use(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		before := time.Now().Add(-time.Duration(v.Older))
		chosen := slices.DeleteFunc(all, func(s engine.SessionInfo) bool {
			return !s.Modified.Before(before) || !slices.Contains(v.Status, statusWord(s)) || held(e, s.Session)
		})
		if v.DryRun {
			a.reportRemoved(nil, chosen)
			return nil
		}
		return a.remove(ctx, e, chosen, v.Yes)
	})
}

// held says whether a process works on a session. Of one that cannot be read, its removal will tell.
func held(e *engine.Engine, session string) bool {
	s, err := e.Status(session)
	return err == nil && s.Held
}

// remove removes sessions, unless the person at the terminal says no.
func (a *app) remove(ctx context.Context, e *engine.Engine, chosen []engine.SessionInfo, yes bool) error {
	if len(chosen) > 0 && !yes {
		agreed, err := a.agree(chosen)
		if err != nil || !agreed {
			if err == nil && a.JSON {
				a.reportRemoved(nil, nil)
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
	if len(errs) == 0 || len(removed) > 0 && !a.JSON { // one JSON object: the error wins
		a.reportRemoved(removed, nil)
	}
	return errors.Join(errs...)
}

// agree asks the person at the terminal. Without one, --yes is needed.
func (a *app) agree(chosen []engine.SessionInfo) (bool, error) {
	if !a.interactive() {
		return false, usageError(fmt.Sprintf("removing %s needs to be confirmed, and nobody is there to ask", screen.Plural(len(chosen), "session")),
			"add --yes")
	}
	writeSessions(a.stderr, chosen, time.Now())
	fmt.Fprintf(a.stderr, "\nRemove %s with all files? [y/N] ", screen.Plural(len(chosen), "session"))
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	default:
		fmt.Fprintln(a.stderr, "Nothing was removed.")
		return false, nil
	}
}

// reportRemoved says what was removed, or what would be.
func (a *app) reportRemoved(removed, would []engine.SessionInfo) {
	if a.JSON {
		a.document(document.Removed{Removed: names(removed), Would: names(would)})
		return
	}
	for _, s := range removed {
		fmt.Fprintf(a.stdout, "Removed session '%s' (%s)\n", s.Session, statusWord(s))
	}
	for _, s := range would {
		fmt.Fprintf(a.stdout, "Would remove session '%s' (%s, changed %s ago)\n", s.Session, statusWord(s), screen.Age(time.Since(s.Modified)))
	}
	if len(removed)+len(would) == 0 {
		fmt.Fprintln(a.stdout, "No sessions to remove.")
	}
}

func names(sessions []engine.SessionInfo) []string {
	list := []string{}
	for _, s := range sessions {
		list = append(list, s.Session)
	}
	return list
}
