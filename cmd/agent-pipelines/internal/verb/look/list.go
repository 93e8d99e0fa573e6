package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// listCount is the default number of listed sessions, as in the Bash engine.
const listCount = 10

// List is the verb `list [count]`.
type List struct {
	Count  *int     `arg:"" optional:"" help:"Number of sessions, the newest first; 0: all (default 10)."`
	Limit  *int     `placeholder:"N" help:"Same as count, as a flag."`
	Status []string `placeholder:"STATUS" help:"List only sessions with one of these statuses, such as running,crashed."`
}

// Run implements [cli.Verb].
func (v *List) Run(ctx context.Context, a *cli.App) error {
	limit, err := v.limit()
	if err == nil {
		err = checkStatuses(v.Status)
	}
	if err != nil {
		return err
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		sessions, err := e.Sessions()
		if err != nil {
			return err
		}
		if len(v.Status) > 0 {
			sessions = slices.DeleteFunc(sessions, func(s engine.SessionInfo) bool {
				return !slices.Contains(v.Status, screen.StatusWord(s.Status, s.Crashed))
			})
		}
		if limit > 0 && len(sessions) > limit {
			sessions = sessions[:limit]
		}
		a.Print(document.Sessions{Sessions: append([]engine.SessionInfo{}, sessions...)}, func(to io.Writer) { writeSessions(to, sessions, time.Now()) })
		return nil
	})
}

func (v *List) limit() (int, error) {
	limit := listCount
	if n := cmp.Or(v.Limit, v.Count); n != nil {
		limit = *n
	}
	if limit < 0 {
		return 0, cli.UsageError("a list cannot have fewer than no sessions", "give a number from 1, or 0 for all")
	}
	return limit, nil
}

// StatusWords lists the values of [screen.StatusWord].
var StatusWords = []string{
	string(state.Running), string(state.Paused), string(state.Failed), screen.StatusCrashed, string(state.Completed),
	string(state.Aborted), string(state.Pending), screen.StatusUnknown,
}

// checkStatuses returns an error for a word that is not in StatusWords.
func checkStatuses(words []string) error {
	for _, word := range words {
		if !slices.Contains(StatusWords, word) {
			return cli.UsageError(fmt.Sprintf("no session has the status '%s'", word), "%sthere is %s", cli.DidYouMean(word, StatusWords), strings.Join(StatusWords, ", "))
		}
	}
	return nil
}

// stageText returns a session's current stage, with the run of its pipeline if there are several.
func stageText(s engine.SessionInfo) string {
	text := screen.Clean(s.Stage)
	if runs := RunText(s.Run, s.Runs); runs != "" {
		text += " (run " + runs + ")"
	}
	if n := len(s.Waiting); n > 0 {
		text += fmt.Sprintf(" (waiting for you: %s)", screen.Clean(strings.Join(s.Waiting, ", ")))
	}
	return strings.TrimSpace(text)
}

// writeSessions writes a table of sessions; now is the current time.
func writeSessions(to io.Writer, sessions []engine.SessionInfo, now time.Time) {
	if len(sessions) == 0 {
		fmt.Fprintln(to, "No pipeline runs found.")
		return
	}
	const columns = "  %-*s %-10s %-12s %s\n"
	width := cli.NameWidth(sessions, func(s engine.SessionInfo) string { return s.Session })
	fmt.Fprintf(to, "Recent pipeline runs:\n\n"+columns, width, "SESSION", "STATUS", "AGE", "STAGE")
	for _, s := range sessions {
		fmt.Fprintf(to, columns, width, s.Session, screen.StatusWord(s.Status, s.Crashed), screen.Age(now.Sub(s.Modified))+" ago", stageText(s))
	}
}
