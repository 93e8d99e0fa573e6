package cliagent

import (
	"bytes"
	"encoding/json"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Events separates an agent's JSON events from plain text on stdout. Set its Line method as
// [Command.Line].
//
// Output without events, as from an older version of the agent, counts as the agent's answer: it is
// shown immediately and kept in Plain. After the first event, Line ignores lines that are not
// events.
//
// Use an Events for one run; Plain and Seen are valid after the run.
type Events struct {
	// Begins reports whether a JSON object with this "type" may be the first event. Objects before
	// the first event count as text, because an answer may be JSON.
	Begins func(kind string) bool
	// Handle is called with each event, of known or unknown type, and reports whether the event was
	// the agent's final message.
	Handle func(kind string, event []byte) (final bool)
	// Plain collects the lines before the first event.
	Plain *Transcript

	seen bool
}

// Seen reports whether the agent wrote events.
func (e *Events) Seen() bool { return e.seen }

// Line handles one line of stdout and reports whether the line was the agent's final message.
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

// eventType returns the member "type" of a line that holds one JSON object.
func eventType(line []byte) (string, bool) {
	line = bytes.Trim(line, " \t\r\n") // the white space of JSON
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

// TranscriptBytes is the maximum size of a [Transcript]. The engine truncates outputs at 1 MiB.
const TranscriptBytes = 16 << 20

// Transcript collects the text for the user and shows it on the exchange. It keeps the first
// [TranscriptBytes] and shows everything. It is not safe for concurrent use.
type Transcript struct {
	// X is the exchange that shows the text. Default: nil, the text is only kept.
	X sdk.Exchange

	text strings.Builder
	last byte // the last byte added, 0 at the beginning
}

// Add appends text unchanged.
func (t *Transcript) Add(text string) {
	if text == "" {
		return
	}
	t.last = text[len(text)-1]
	report(t.X, sdk.StreamText, []byte(text))
	if space := TranscriptBytes - t.text.Len(); space > 0 {
		t.text.WriteString(text[:min(space, len(text))])
	}
}

// Paragraph appends text as a paragraph, after an empty line. It trims white space and ignores an
// empty text.
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

// String returns the kept text.
func (t *Transcript) String() string { return t.text.String() }
