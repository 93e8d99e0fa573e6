package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// statusVerb is `status <session>`.
type statusVerb struct {
	Session string `arg:"" help:"The session to show."`
}

func (v *statusVerb) run(ctx context.Context, a *app) error {
	return a.use(ctx, func(e *kernel.Engine) error {
		s, err := e.Status(v.Session)
		if err != nil {
			return err
		}
		if a.JSON {
			printJSON(a.stdout, s)
			return nil
		}
		writeStatus(a.stdout, s, time.Now())
		return nil
	})
}

// writeStatus writes a status for people, as it is at a time.
func writeStatus(to io.Writer, s *kernel.Status, now time.Time) {
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(to, "%-15s %s\n", name+":", screen.Clean(text))
		}
	}
	row("Session", s.Session)
	row("Status", condition(s))
	row("Reason", s.Reason)
	row("Node", node(s))
	row("Provider", s.Provider)
	row("Iteration", iteration(s))
	if s.LastEvent != "" {
		row("Last event", fmt.Sprintf("%s (%s ago)", s.LastEvent, screen.Age(now.Sub(s.LastEventAt))))
	}
	row("Errors", errorsOf(s))
	row("Duration", duration(s, now))
	row("Usage", screen.Usage(s.Usage))
	row("Run dir", s.Dir)
	if s.Failure != nil {
		failureOf(s.Failure).print(to)
	}
	if s.ResumeCommand != "" {
		fmt.Fprintln(to, "To resume: "+s.ResumeCommand)
	}
}

// condition is the status in words.
func condition(s *kernel.Status) string {
	switch {
	case s.Crashed:
		return "crashed (its process is gone; the work that was finished is kept)"
	case s.Status == state.Paused && s.PauseKind != "":
		return fmt.Sprintf("%s (%s)", s.Status, s.PauseKind)
	case s.Status == "":
		return "never began"
	case s.PID > 0:
		return fmt.Sprintf("%s (PID %d)", s.Status, s.PID)
	default:
		return string(s.Status)
	}
}

func node(s *kernel.Status) string {
	if s.Node == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s/%s)", s.Node, s.Stage, cmp.Or(s.Type, "inline"))
}

func iteration(s *kernel.Status) string {
	text := fmt.Sprint(s.Iteration)
	if s.Max > 0 {
		text += fmt.Sprintf("/%d", s.Max)
	}
	if s.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", s.Attempt)
	}
	return text
}

func errorsOf(s *kernel.Status) string {
	if s.Failure == nil {
		return "0"
	}
	return "1"
}

// duration is from the start to the end, or to now.
func duration(s *kernel.Status, now time.Time) string {
	if s.StartedAt.IsZero() {
		return ""
	}
	end := now
	if s.EndedAt != nil {
		end = *s.EndedAt
	}
	return screen.Age(end.Sub(s.StartedAt))
}
