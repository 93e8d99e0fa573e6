package journal

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Log is what a journal holds beside its events.
type Log struct {
	// Count is how many live events there are, Last the newest of them; the zero event if there are none.
	Count int
	Last  event.Event
	// Report says what was found beside them.
	Report Report
}

// Report says what was found beside live events since the last run began; of earlier runs it says only
// which lines came too late. The zero value is an undamaged journal.
type Report struct {
	// TornTail: the last line was cut off by a crash. It was never acted upon.
	TornTail bool
	// SuspectTail: the last whole line cannot be read, and nothing after it tells whether that was a
	// torn line or an event that somebody acted upon.
	SuspectTail bool
	// Unnumbered counts the events that the Bash engine wrote.
	Unnumbered int
	// BadLines cannot be read. Where no gap goes with them they are torn lines of earlier crashes.
	BadLines []BadLine
	// Gaps are places where numbered events are missing.
	Gaps []Gap
	// Stale are lines that came too late: of an outdated kernel, or with a number already used.
	Stale []Stale
}

// Damaged reports whether events that somebody acted upon are missing, or may be.
func (r Report) Damaged() bool {
	return len(r.Gaps) > 0 || r.SuspectTail || r.Unnumbered > 0 && len(r.BadLines) > 0
}

// BadLine is a line that is no event. Lines count from 1, offsets are bytes from the beginning.
type BadLine struct {
	Line   int
	Offset int64
	Reason string
}

// Gap lies between two events that both exist.
type Gap struct {
	Line   int   // of the event after the gap
	After  int64 // the number before the gap, 0 at the beginning
	Before int64 // the number after the gap
}

// Stale is a line that is no live event.
type Stale struct {
	Line   int
	Offset int64
	Type   event.Type
	Seq    int64
	Epoch  int
	Reason string
}

func (b BadLine) String() string { return fmt.Sprintf("line %d: %s", b.Line, b.Reason) }

func (g Gap) String() string {
	return fmt.Sprintf("line %d: events %d to %d are missing", g.Line, g.After+1, g.Before-1)
}

func (s Stale) String() string {
	return fmt.Sprintf("line %d: event %d (%s) is not counted: %s", s.Line, s.Seq, s.Type, s.Reason)
}
