package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// listCount is how many sessions a list has, as in the Bash engine.
const listCount = 10

// listVerb is `list [count]`.
type listVerb struct {
	Count  *int     `arg:"" optional:"" help:"How many sessions, the newest first. 0 lists all. Default: 10."`
	Limit  *int     `placeholder:"N" help:"The same as a flag."`
	Status []string `placeholder:"STATUS" help:"Only those with one of these statuses, such as running,crashed."`
}

func (v *listVerb) run(ctx context.Context, a *app) error {
	limit, err := v.limit()
	if err == nil {
		err = checkStatuses(v.Status)
	}
	if err != nil {
		return err
	}
	return a.use(ctx, func(e *engine.Engine) error {
		sessions, err := e.Sessions()
		if err != nil {
			return err
		}
		if len(v.Status) > 0 {
			sessions = slices.DeleteFunc(sessions, func(s engine.SessionInfo) bool { return !slices.Contains(v.Status, statusWord(s)) })
		}
		if limit > 0 && len(sessions) > limit {
			sessions = sessions[:limit]
		}
		if a.JSON {
			a.document(document.Sessions{Sessions: append([]engine.SessionInfo{}, sessions...)})
			return nil
		}
		writeSessions(a.stdout, sessions, time.Now())
		return nil
	})
}

func (v *listVerb) limit() (int, error) {
	limit := listCount
	for _, n := range []*int{v.Count, v.Limit} {
		if n != nil {
			limit = *n
		}
	}
	if limit < 0 {
		return 0, usageError("a list cannot have fewer than no sessions", "give a number from 1, or 0 for all")
	}
	return limit, nil
}

// The statuses that a list has besides those of the kernel.
const (
	statusCrashed = "crashed" // running, but its process is gone
	statusUnknown = "unknown" // it never began, or its state.json cannot be read
)

// statusWord is a session's status as lists show it and as --status takes it.
func statusWord(s engine.SessionInfo) string {
	switch {
	case s.Crashed:
		return statusCrashed
	case s.Status == "":
		return statusUnknown
	default:
		return string(s.Status)
	}
}

// statusWords are what [statusWord] may say.
var statusWords = []string{
	string(state.Running), string(state.Paused), string(state.Failed), statusCrashed, string(state.Completed),
	string(state.Aborted), string(state.Pending), statusUnknown,
}

// checkStatuses refuses words that no session's status can be.
func checkStatuses(words []string) error {
	known := statusWords
	for _, word := range words {
		if slices.Contains(known, word) {
			continue
		}
		hint := "there is " + strings.Join(known, ", ")
		if near := nearest.Name(word, known); near != "" {
			hint = fmt.Sprintf("did you mean '%s'? %s", near, hint)
		}
		return usageError(fmt.Sprintf("no session has the status '%s'", word), "%s", hint)
	}
	return nil
}

// stageOf is the stage that a session is at, with the run of its pipeline where there are several.
func stageOf(s engine.SessionInfo) string {
	text := screen.Clean(s.Stage)
	if runs := ofRuns(s.Run, s.Runs); runs != "" {
		text += " (run " + runs + ")"
	}
	if n := len(s.Waiting); n > 0 {
		text += fmt.Sprintf(" (waiting for you: %s)", screen.Clean(strings.Join(s.Waiting, ", ")))
	}
	return strings.TrimSpace(text)
}

// writeSessions writes a table of sessions, with their ages at a time.
func writeSessions(to io.Writer, sessions []engine.SessionInfo, now time.Time) {
	if len(sessions) == 0 {
		fmt.Fprintln(to, "No pipeline runs found.")
		return
	}
	const columns = "  %-*s %-10s %-12s %s\n"
	width := nameWidth(sessions, func(s engine.SessionInfo) string { return s.Session })
	fmt.Fprintf(to, "Recent pipeline runs:\n\n"+columns, width, "SESSION", "STATUS", "AGE", "STAGE")
	for _, s := range sessions {
		fmt.Fprintf(to, columns, width, s.Session, statusWord(s), screen.Age(now.Sub(s.Modified))+" ago", stageOf(s))
	}
}
