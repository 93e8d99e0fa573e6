package screen

import (
	"io"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// EventLines prints the events of a running session, one per line. The session never waits for the reader: unread events
// are buffered in memory and none is dropped. A nil *EventLines prints nothing.
type EventLines struct{ out *BoundedWriter }

// NewEventLines returns a printer of events to a writer. The caller closes it.
func NewEventLines(to io.Writer) *EventLines { return &EventLines{newWriter(to, 0)} }

// Observe queues the event of an update, if it has one.
func (l *EventLines) Observe(u engine.Update) {
	if l == nil || u.Event == nil {
		return
	}
	if line, err := u.Event.AppendLine(nil); err == nil { // always: the event is in the journal
		_, _ = l.out.Write(line)
	}
}

// Close waits until all events are written, or the reader has closed the output.
func (l *EventLines) Close() {
	if l != nil {
		l.out.Flush(0)
		l.out.Close()
	}
}
