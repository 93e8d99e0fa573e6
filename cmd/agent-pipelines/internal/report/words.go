package report

import (
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// oneLine is a text on one printable line.
func oneLine(text string) string { return screen.Clean(text) }

// block is a text with its lines, printable.
func block(text string) string { return strings.Join(screen.Lines(text), "\n") }

// cut shortens a text to so many letters.
func cut(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most-1]) + "…"
}

// clock is a time as the reader's clock has it.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// tokens are those that went in and came out, "" where nobody said.
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
