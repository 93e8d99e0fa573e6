package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// line is the JSON of one journal line: Bash's keys first, in Bash's order, then ours.
type line struct {
	TS           string          `json:"ts"`
	Type         Type            `json:"type"`
	Session      string          `json:"session"`
	Cursor       *Cursor         `json:"cursor"`
	Data         json.RawMessage `json:"data"`
	Timestamp    string          `json:"timestamp,omitempty"`
	V            int             `json:"v,omitempty"`
	Seq          int64           `json:"seq,omitempty"`
	RunID        string          `json:"run_id,omitempty"`
	Epoch        int             `json:"epoch,omitempty"`
	Key          Key             `json:"key,omitempty"`
	Attempt      int             `json:"attempt,omitempty"`
	Must         bool            `json:"must,omitempty"`
	TraceID      string          `json:"trace_id,omitempty"`
	SpanID       string          `json:"span_id,omitempty"`
	ParentSpanID string          `json:"parent_span_id,omitempty"`
}

// ErrTooLong says that an event does not fit into a line. Nothing of it is written.
var ErrTooLong = errors.New("the event is too long for a line of the journal")

// tsLayout is Bash's time key: UTC, seconds.
const tsLayout = "2006-01-02T15:04:05Z"

// AppendLine appends the event's journal line and a newline to dst. Rendering the same event again
// gives the same bytes. An error wraps [ErrTooLong] if the line would be over [MaxLine], or means that
// the data is no JSON.
func (e Event) AppendLine(dst []byte) ([]byte, error) {
	l := line{
		TS: e.Time.UTC().Format(tsLayout), Type: e.Type, Session: e.Session, Cursor: e.Cursor, Data: e.Data,
		Timestamp: e.Time.UTC().Format(time.RFC3339Nano), V: JournalVersion, Seq: e.Seq, RunID: e.RunID,
		Epoch: e.Epoch, Key: e.Key, Attempt: e.Attempt, Must: e.Must,
	}
	if len(l.Data) == 0 {
		l.Data = json.RawMessage("{}")
	}
	l.TraceID, l.SpanID, l.ParentSpanID = e.trace()
	b, err := plain(l)
	if err != nil {
		return dst, fmt.Errorf("render event %s: %w", e.Type, err)
	}
	if len(b)+1 > MaxLine {
		return dst, fmt.Errorf("render event %s: %w: %d bytes, at most %d", e.Type, ErrTooLong, len(b)+1, MaxLine)
	}
	return append(append(dst, b...), '\n'), nil
}

// plain is JSON as people read and grep it: <, > and & stand for themselves.
func plain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// trace derives W3C trace and span ids from the run and the key, so that a replay yields the same
// ids and no id has to be kept (DESIGN 5). An event without a key belongs to the run's root span.
func (e Event) trace() (traceID, spanID, parent string) {
	if e.RunID == "" {
		return "", "", ""
	}
	root := sha256.Sum256([]byte("span\x00" + e.RunID))
	t := sha256.Sum256([]byte("trace\x00" + e.RunID))
	traceID, parent = hex.EncodeToString(t[:16]), hex.EncodeToString(root[:8])
	if e.Key == "" {
		return traceID, parent, ""
	}
	s := sha256.Sum256([]byte("span\x00" + e.RunID + "\x00" + string(e.Key)))
	return traceID, hex.EncodeToString(s[:8]), parent
}

// ParseLine reads a journal line, ours or the Bash engine's, which lacks everything after data. The
// line may end with a newline.
func ParseLine(b []byte) (Event, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return Event{}, fmt.Errorf("parse journal line: %w", err)
	}
	if l.Type == "" {
		return Event{}, fmt.Errorf("parse journal line: no type")
	}
	at, err := parseTime(l.Timestamp, l.TS)
	if err != nil {
		return Event{}, fmt.Errorf("parse journal line: %w", err)
	}
	return Event{
		Type: l.Type, Session: l.Session, Cursor: l.Cursor, Data: l.Data, Time: at, Seq: l.Seq,
		RunID: l.RunID, Epoch: l.Epoch, Key: l.Key, Attempt: l.Attempt, Must: l.Must,
	}, nil
}

func parseTime(timestamp, ts string) (time.Time, error) {
	if timestamp == "" {
		timestamp = ts
	}
	t, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: %w", timestamp, err)
	}
	return t.UTC(), nil
}
