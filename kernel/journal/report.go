package journal

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Summary describes a journal without its events.
type Summary struct {
	// Count is the number of live events, Last the newest of them; the zero event if there are none.
	Count int
	Last  event.Event
	// Report lists the irregularities of the file.
	Report Report
	// Chain is the result of the check of the chain; only [Open] and [Verify] check it.
	Chain Chain
}

// Report lists the irregularities since the last run began, and the stale lines of all runs. The zero
// value means an undamaged journal.
type Report struct {
	// TornTail: the last line was cut off by a crash. No kernel has acted on it.
	TornTail bool
	// SuspectTail: the last whole line is unreadable, and it is unknown whether a kernel acted on it.
	SuspectTail bool
	// Unnumbered counts the events of the Bash engine, which have no sequence numbers.
	Unnumbered int
	// BadLines are the unreadable lines. Without a gap they are torn lines of earlier crashes.
	BadLines []BadLine
	// Gaps are missing ranges of numbered events.
	Gaps []Gap
	// Stale are lines that came too late: of an outdated kernel, or with a number already used.
	Stale []StaleLine
}

// Damaged reports whether events that a kernel has acted on are missing, or may be missing.
func (r Report) Damaged() bool {
	return len(r.Gaps) > 0 || r.SuspectTail || r.Unnumbered > 0 && len(r.BadLines) > 0
}

// BadLine is a line that is not an event. Lines count from 1.
type BadLine struct {
	Line   int
	Reason string
}

// Gap is a range of missing events before an existing event.
type Gap struct {
	Line   int   // of the event after the gap
	After  int64 // the number before the gap, 0 at the beginning
	Before int64 // the number after the gap
}

// StaleLine is a line whose event came too late and is not live.
type StaleLine struct {
	Line   int
	Type   event.Type
	Seq    int64
	Reason string
}

func (b BadLine) String() string { return fmt.Sprintf("line %d: %s", b.Line, b.Reason) }

func (g Gap) String() string {
	return fmt.Sprintf("line %d: events %d to %d are missing", g.Line, g.After+1, g.Before-1)
}

func (s StaleLine) String() string {
	return fmt.Sprintf("line %d: event %d (%s) is not counted: %s", s.Line, s.Seq, s.Type, s.Reason)
}
