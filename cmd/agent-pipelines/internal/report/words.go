package report

import (
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
