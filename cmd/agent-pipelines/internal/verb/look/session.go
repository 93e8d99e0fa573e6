package look

import (
	"bufio"
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

// Session is `session history`, `session rm` and `session prune`.
type Session struct {
	History sessionHistoryVerb `cmd:"" help:"Show every visit of every stage in order, and the way from each to the next."`
	Remove  sessionRemoveVerb  `cmd:"" name:"rm" help:"Remove sessions with all their files."`
	Prune   sessionPruneVerb   `cmd:"" help:"Remove all sessions that ended long ago."`
}

// sessionRemoveVerb is `session rm <name>...`.
type sessionRemoveVerb struct {
	Sessions []string `arg:"" name:"session" help:"The sessions to remove."`
	Yes      bool     `short:"y" help:"Do not ask."`
}

func (v *sessionRemoveVerb) Run(ctx context.Context, a *cli.App) error {
	return a.Use(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		var chosen []engine.SessionInfo
		for _, name := range slices.Compact(slices.Sorted(slices.Values(v.Sessions))) {
			i := slices.IndexFunc(all, func(s engine.SessionInfo) bool { return s.Session == name })
			if i < 0 { // says what is wrong with the name
				_, err := e.Status(name)
				return cli.OrError(err, cli.UsageError(fmt.Sprintf("'%s' is no session of this directory", name), "%s list shows them", cli.Program))
			}
			chosen = append(chosen, all[i])
		}
		return remove(a, ctx, e, chosen, v.Yes)
	})
}

// sessionPruneVerb is `session prune`.
type sessionPruneVerb struct {
	Older  cli.Age  `default:"30d" placeholder:"AGE" help:"Only those that changed last longer ago than this, such as 30d, 2w or 36h. Default: 30d."`
	Status []string `default:"completed,aborted" placeholder:"STATUS" help:"Only those with one of these statuses. Default: completed,aborted."`
	DryRun bool     `help:"Only show which ones."`
	Yes    bool     `short:"y" help:"Do not ask."`
}

func (v *sessionPruneVerb) Run(ctx context.Context, a *cli.App) error {
	if err := checkStatuses(v.Status); err != nil {
		return err
	}
	return a.Use(ctx, func(e *engine.Engine) error {
		all, err := e.Sessions()
		if err != nil {
			return err
		}
		before := time.Now().Add(-time.Duration(v.Older))
		chosen := slices.DeleteFunc(all, func(s engine.SessionInfo) bool {
			return !s.Modified.Before(before) || !slices.Contains(v.Status, StatusWord(s)) || held(e, s.Session)
		})
		if v.DryRun {
			reportRemoved(a, nil, chosen)
			return nil
		}
		return remove(a, ctx, e, chosen, v.Yes)
	})
}

// held says whether a process works on a session. Of one that cannot be read, its removal will tell.
func held(e *engine.Engine, session string) bool {
	s, err := e.Status(session)
	return err == nil && s.Held
}

// remove removes sessions, unless the person at the terminal says no.
func remove(a *cli.App, ctx context.Context, e *engine.Engine, chosen []engine.SessionInfo, yes bool) error {
	if len(chosen) > 0 && !yes {
		agreed, err := agree(a, chosen)
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
	if len(errs) == 0 || len(removed) > 0 && !a.JSON { // one JSON object: the error wins
		reportRemoved(a, removed, nil)
	}
	return errors.Join(errs...)
}

// agree asks the person at the terminal. Without one, --yes is needed.
func agree(a *cli.App, chosen []engine.SessionInfo) (bool, error) {
	if !a.Interactive() {
		return false, cli.UsageError(fmt.Sprintf("removing %s needs to be confirmed, and nobody is there to ask", screen.Plural(len(chosen), "session")),
			"add --yes")
	}
	WriteSessions(a.Stderr, chosen, time.Now())
	fmt.Fprintf(a.Stderr, "\nRemove %s with all files? [y/N] ", screen.Plural(len(chosen), "session"))
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	default:
		fmt.Fprintln(a.Stderr, "Nothing was removed.")
		return false, nil
	}
}

// reportRemoved says what was removed, or what would be.
func reportRemoved(a *cli.App, removed, would []engine.SessionInfo) {
	if a.JSON {
		a.Document(document.Removed{Removed: names(removed), Would: names(would)})
		return
	}
	for _, s := range removed {
		fmt.Fprintf(a.Stdout, "Removed session '%s' (%s)\n", s.Session, StatusWord(s))
	}
	for _, s := range would {
		fmt.Fprintf(a.Stdout, "Would remove session '%s' (%s, changed %s ago)\n", s.Session, StatusWord(s), screen.Age(time.Since(s.Modified)))
	}
	if len(removed)+len(would) == 0 {
		fmt.Fprintln(a.Stdout, "No sessions to remove.")
	}
}

func names(sessions []engine.SessionInfo) []string {
	list := []string{}
	for _, s := range sessions {
		list = append(list, s.Session)
	}
	return list
}
