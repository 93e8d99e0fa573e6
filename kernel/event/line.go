package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Line is the JSON of one journal line: the Bash engine's keys first, in its order, then the keys of this engine. A
// line that the Bash engine wrote ends with the data.
type Line struct {
	TS           string          `json:"ts"` // UTC, in seconds
	Type         Type            `json:"type"`
	Session      string          `json:"session"`
	Cursor       *Cursor         `json:"cursor"`
	Data         json.RawMessage `json:"data"`                // docs/run-files.md lists it by type
	Timestamp    string          `json:"timestamp,omitempty"` // UTC
	V            int             `json:"v,omitempty"`         // [JournalVersion]
	Seq          int64           `json:"seq,omitempty"`
	RunID        string          `json:"run_id,omitempty"`
	Epoch        int             `json:"epoch,omitempty"`
	Key          Key             `json:"key,omitempty"`
	Attempt      int             `json:"attempt,omitempty"`
	Must         bool            `json:"must,omitempty"` // [Event.Critical]
	TraceID      string          `json:"trace_id,omitempty"`
	SpanID       string          `json:"span_id,omitempty"`
	ParentSpanID string          `json:"parent_span_id,omitempty"`
	Prev         string          `json:"prev,omitempty"` // [Event.Prev]
}

// ErrTooLong means that an event does not fit into a line. Nothing of the event is written.
var ErrTooLong = errors.New("event too long for a journal line")

// tsLayout is the Bash engine's time format: UTC, seconds.
const tsLayout = "2006-01-02T15:04:05Z"

// AppendLine appends the event's journal line and a newline to dst. The same event always gives the same bytes. An
// error wraps [ErrTooLong] if the line would exceed [MaxLine], or means that the data is not JSON.
func (e Event) AppendLine(dst []byte) ([]byte, error) {
	l := Line{
		TS: e.Time.UTC().Format(tsLayout), Type: e.Type, Session: e.Session, Cursor: e.Cursor, Data: e.Data,
		Timestamp: e.Time.UTC().Format(time.RFC3339Nano), V: JournalVersion, Seq: e.Seq, RunID: e.RunID,
		Epoch: e.Epoch, Key: e.Key, Attempt: e.Attempt, Must: e.Critical, Prev: e.Prev,
	}
	if len(l.Data) == 0 {
		l.Data = json.RawMessage("{}")
	}
	l.TraceID, l.SpanID, l.ParentSpanID = e.traceIDs()
	b, err := marshalPlain(l)
	if err != nil {
		return dst, fmt.Errorf("render event %s: %w", e.Type, err)
	}
	if len(b)+1 > MaxLine {
		return dst, fmt.Errorf("render event %s: %w: %d bytes, at most %d", e.Type, ErrTooLong, len(b)+1, MaxLine)
	}
	return append(append(dst, b...), '\n'), nil
}

// ParseLine reads a journal line of this engine, or of the Bash engine, whose lines lack everything after data. The
// line may end with a newline.
func ParseLine(b []byte) (Event, error) {
	var l Line
	if !l.parseFast(b) {
		l = Line{}
		if err := json.Unmarshal(b, &l); err != nil {
			return Event{}, fmt.Errorf("parse journal line: %w", err)
		}
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
		RunID: l.RunID, Epoch: l.Epoch, Key: l.Key, Attempt: l.Attempt, Critical: l.Must, Prev: l.Prev,
	}, nil
}

// parseFast reads a line as this engine writes it, with the same result as json.Unmarshal but without the trace ids.
// If it returns false, use json.Unmarshal instead.
func (l *Line) parseFast(b []byte) bool {
	end := scanObject(b, 0, 0, func(name, value []byte, plain bool) bool {
		switch string(name) {
		case "ts":
			return parseText(value, plain, &l.TS)
		case "type":
			return parseText(value, plain, (*string)(&l.Type))
		case "session":
			return parseText(value, plain, &l.Session)
		case "timestamp":
			return parseText(value, plain, &l.Timestamp)
		case "run_id":
			return parseText(value, plain, &l.RunID)
		case "key":
			return parseText(value, plain, (*string)(&l.Key))
		case "prev":
			return parseText(value, plain, &l.Prev)
		case "cursor":
			return l.parseCursorFast(value)
		case "data":
			first := l.Data == nil
			l.Data = bytes.Clone(value)
			return first
		case "v":
			return parseInt(value, &l.V)
		case "seq":
			return parseInt(value, &l.Seq)
		case "epoch":
			return parseInt(value, &l.Epoch)
		case "attempt":
			return parseInt(value, &l.Attempt)
		case "trace_id", "span_id", "parent_span_id": // derived from other fields
			return plain
		default: // rare or unknown
			return false
		}
	})
	return end >= 0 && skipSpace(b, end) == len(b)
}

func (l *Line) parseCursorFast(b []byte) bool {
	if l.Cursor != nil || string(b) == "null" {
		return l.Cursor == nil
	}
	l.Cursor = &Cursor{}
	c := l.Cursor
	return scanObject(b, 0, 0, func(name, value []byte, plain bool) bool {
		switch string(name) {
		case "node_path":
			return parseText(value, plain, &c.NodePath)
		case "node_run":
			return parseInt(value, &c.NodeRun)
		case "iteration":
			return parseInt(value, &c.Iteration)
		case "provider":
			return parseText(value, plain, &c.Provider)
		case "step":
			return parseText(value, plain, &c.Step)
		case "visit":
			return parseInt(value, &c.Visit)
		case "run":
			return parseInt(value, &c.Run)
		default:
			return false
		}
	}) >= 0
}

// parseText reads a string without escapes.
func parseText(b []byte, plain bool, to *string) bool {
	*to = ""
	if plain {
		*to = string(b[1 : len(b)-1])
	}
	return plain
}

// parseInt reads an integer of at most 18 digits, without a sign.
func parseInt[T int | int64](b []byte, to *T) bool {
	var n int64
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
		n = 10*n + int64(c-'0')
	}
	*to = T(n)
	return len(b) <= 18 && int64(*to) == n
}

func parseTime(timestamp, ts string) (time.Time, error) {
	timestamp = cmp.Or(timestamp, ts)
	t, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: %w", timestamp, err)
	}
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return time.Time{}, fmt.Errorf("time %q: the year in UTC is %d, want 0 to 9999", timestamp, y)
	}
	return t.UTC(), nil
}
