package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// block returns a text with printable lines.
func block(text string) string { return strings.Join(screen.Lines(text), "\n") }

// clock formats a time in local time.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// tokens formats the input and output tokens, "" if they are unknown.
func tokens(u event.Usage) string {
	if n := event.Sum(u.InputTokens, u.OutputTokens); n != nil {
		return screen.Count(*n)
	}
	return ""
}

func cost(u event.Usage) string {
	if u.CostUSD == nil {
		return ""
	}
	return screen.Dollars(*u.CostUSD)
}

// locationText returns a location as text.
func locationText(name string, at event.Location) string {
	if at.Step != "" {
		name += ", step " + at.Step
	}
	if at.Branch != "" {
		name += " · " + at.Branch
	}
	if at.Visit > 1 {
		name += fmt.Sprintf(" (visit %d)", at.Visit)
	}
	return name
}

// retryText describes how a failure was handled; d is nil if nothing was retried.
func retryText(d *event.RetryData) string {
	switch {
	case d == nil:
		return ""
	case d.Rung == event.RungStage:
		return fmt.Sprintf("the stage started again (%d of %d)", d.N-1, d.Max-1)
	case d.Rung == event.RungArtifact:
		return "the agent was asked again for its artifact"
	default:
		return fmt.Sprintf("attempt %d of %d", d.N, d.Max)
	}
}

// outcomeClass returns the CSS class of an outcome.
func outcomeClass(outcome string) string {
	switch outcome {
	case "success", "skip", "complete", "completed", "skipped":
		return "good"
	case "", "pending", "running", "paused":
		return "open"
	default:
		return "bad"
	}
}
