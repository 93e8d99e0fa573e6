package cliagent

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// DecodeEvent decodes a JSON event of an agent into the struct that event points to and reports whether raw is JSON.
// A field of an unexpected type is skipped and the others are decoded, because events change between releases.
func DecodeEvent(raw []byte, event any) bool {
	err := json.Unmarshal(raw, event)
	var mismatch *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mismatch)
}

// AddCounts returns the sum of two token counts; nil is an unknown count. The sum of a known and an unknown count is
// the known count. The sum of two unknown counts is unknown.
func AddCounts(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := *a + *b
	return &sum
}

// OneLine returns the first line of a text for a live view, without surrounding white space. A line of more than 120
// characters is cut and ends in "…".
func OneLine(text string) string {
	const limit = 120
	text = strings.TrimSpace(text)
	if line, _, more := strings.Cut(text, "\n"); more {
		text = strings.TrimSpace(line)
	}
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

// Evidence returns the evidence that the output and the end of an agent's process give for [outcome.Agent.Decide].
// active reports whether the agent's events show any work; without events, any printed text counts as work.
func (e End) Evidence(events *Events, active bool, now time.Time) outcome.Evidence {
	if !events.Seen() {
		active = strings.TrimSpace(events.Plain.String()) != ""
	}
	return outcome.Evidence{WroteEvents: events.Seen(), Process: e.Process(), Detail: e.Stderr, Now: now, Acted: active}
}
