package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// JournalVersion is the version of the line format and of the meaning of events.
const JournalVersion = 1

// MaxLine is the largest line of a journal in bytes, newline included (REQUIREMENTS U223).
const MaxLine = 64 << 10

// Event is one event of a session. The journal sets Session, Seq, Epoch, RunID, Prev and Time when the event is appended;
// the reporter sets everything else.
type Event struct {
	Type    Type
	Session string
	// Cursor is the position in the pipeline, nil for events without one.
	Cursor *Cursor
	// Data is the typed payload as JSON, one of the …Data types of this package for the events of this engine.
	Data json.RawMessage
	// Time is UTC.
	Time time.Time
	// Seq counts the events of a session from 1, without gaps in an undamaged journal.
	Seq int64
	// RunID is the run that the event belongs to; a finished session that is started again has a new run.
	RunID string
	// Epoch is the number of the kernel start that wrote the event; a fold ignores events of an outdated epoch.
	Epoch int
	// Key is the stable name of the event's subject, "" for plain facts.
	Key Key
	// Attempt counts the attempts of an iteration from 1, 0 if there is none.
	Attempt int
	// Prev is the digest of the line before, which makes the journal a chain; "" in lines of the Bash engine and of older
	// versions.
	Prev string
	// Critical means that a reader that does not know the type must stop instead of skipping the line.
	Critical bool
	// Volatile means that losing the event in a crash has no consequences, whatever its type. The field itself is not
	// written to the journal.
	Volatile bool
}

// Informative reports whether the event needs no sync of its own; see [Type.Informative].
func (e Event) Informative() bool { return e.Volatile || e.Type.Informative() }

// New returns an event with its data marshalled. The data must be one of this package's plain structs, which always
// marshal; anything else panics.
//
// Raw JSON in the data, such as a tool's arguments from an agent, may contain invalid UTF-8, which is replaced.
func New(t Type, cursor *Cursor, key Key, data any) Event {
	raw, err := marshalPlain(data)
	if err != nil {
		panic(fmt.Sprintf("event %s: marshal data: %v", t, err))
	}
	if !utf8.Valid(raw) { // the invalid bytes must be inside a string: anywhere else raw would be invalid JSON
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return Event{Type: t, Cursor: cursor, Key: key, Data: raw}
}

// Decode reads the event's data into T. Fields that T lacks are ignored, fields that the data lacks keep their zero
// value.
func Decode[T any](e Event) (T, error) {
	var v T
	if len(e.Data) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(e.Data, &v); err != nil {
		return v, fmt.Errorf("read data of event %d (%s): %w", e.Seq, e.Type, err)
	}
	return v, nil
}

// marshalPlain returns readable JSON: <, > and & are not escaped.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}
