package cliagent

import (
	"bytes"
	"encoding/json"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Events tells an agent's JSON events from plain text on stdout. Hand its Line method to
// [Command.Line]. An agent that writes no event at all (an older version, a stand-in that ignores the
// flags) is taken as one that prints its answer: the text is shown as it comes and kept in Plain.
// After the first event, lines that are none are noise, which the raw record keeps.
//
// It is used by one run; Plain and Seen are valid after it.
type Events struct {
	// Begins says whether an object with this "type" may be the first event. Until then other objects
	// are text: an answer may well be JSON.
	Begins func(kind string) bool
	// Handle is called with each event, whether its type is known or not, and says whether it was the
	// agent's last word.
	Handle func(kind string, event []byte) (final bool)
	// Plain gathers the lines before the first event.
	Plain *Transcript

	seen bool
}

// Seen reports whether the agent wrote events.
func (e *Events) Seen() bool { return e.seen }

// Line takes one line of stdout and says whether it was the agent's last word.
func (e *Events) Line(line []byte) (final bool) {
	kind, ok := eventType(line)
	switch {
	case ok && (e.seen || e.Begins(kind)):
		e.seen = true
		return e.Handle(kind, line)
	case !e.seen:
		e.Plain.Add(string(line))
	}
	return false
}

// eventType is the member "type" of a line that holds one JSON object.
func eventType(line []byte) (string, bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return "", false
	}
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &head) != nil || head.Type == "" {
		return "", false
	}
	return head.Type, true
}

// TranscriptBytes is how much a [Transcript] keeps. The kernel cuts an output at 1 MiB.
const TranscriptBytes = 16 << 20

// Transcript gathers the text that a person reads and shows it on the exchange at the same time. It
// keeps the first [TranscriptBytes]; shown is everything. It is not safe for concurrent use.
type Transcript struct {
	// X is where the text is shown; nil keeps it only.
	X sdk.Exchange

	kept strings.Builder
	last byte // the last byte added, 0 at the beginning
}

// Add appends text as it is.
func (t *Transcript) Add(text string) {
	if text == "" {
		return
	}
	t.last = text[len(text)-1]
	report(t.X, sdk.StreamText, []byte(text))
	if room := TranscriptBytes - t.kept.Len(); room > 0 {
		t.kept.WriteString(text[:min(room, len(text))])
	}
}

// Paragraph appends a text of its own, an empty line away from what stands before it. White space
// around the text is dropped, and a text of nothing else.
func (t *Transcript) Paragraph(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if t.last != 0 {
		text = "\n" + text
	}
	t.Add(text + "\n")
}

// String is what was kept.
func (t *Transcript) String() string { return t.kept.String() }
