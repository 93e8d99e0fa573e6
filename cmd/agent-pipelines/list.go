package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel"
)

// listVerb is `list [count]`.
type listVerb struct {
	Count int `arg:"" optional:"" default:"10" help:"How many sessions, the newest first. 0 lists all. Default: 10."`
}

func (v *listVerb) run(ctx context.Context, a *app) error {
	if v.Count < 0 {
		return usageError("a list cannot have fewer than no sessions", "give a number from 1, or 0 for all")
	}
	return a.use(ctx, func(e *kernel.Engine) error {
		sessions, err := e.Sessions()
		if err != nil {
			return err
		}
		if v.Count > 0 && len(sessions) > v.Count {
			sessions = sessions[:v.Count]
		}
		if a.JSON {
			printJSON(a.stdout, struct {
				Sessions []kernel.SessionInfo `json:"sessions"`
			}{append([]kernel.SessionInfo{}, sessions...)})
			return nil
		}
		writeSessions(a.stdout, sessions, time.Now())
		return nil
	})
}

// writeSessions writes a table of sessions, with their ages at a time.
func writeSessions(to io.Writer, sessions []kernel.SessionInfo, now time.Time) {
	if len(sessions) == 0 {
		fmt.Fprintln(to, "No pipeline runs found.")
		return
	}
	const columns = "  %-24s %-10s %-12s %s\n"
	fmt.Fprintf(to, "Recent pipeline runs:\n\n"+columns, "SESSION", "STATUS", "AGE", "STAGE")
	for _, s := range sessions {
		status := string(s.Status)
		switch {
		case s.Crashed:
			status = "crashed"
		case status == "":
			status = "unknown" // it never began, or its state.json cannot be read
		}
		fmt.Fprintf(to, columns, s.Session, status, screen.Age(now.Sub(s.Modified))+" ago", screen.Clean(s.Stage))
	}
}
