package screen

import (
	"io"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// EventLines prints the events of a running session, one per line. The session never waits for the reader: unread events
// are buffered in memory and none is dropped. A nil *EventLines prints nothing.
type EventLines struct {
	to     io.Writer
	writer sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	more       *sync.Cond // signals a change of waiting or ended
	waiting    []byte     // lines not yet written
	ended      bool       // Close was called
	readerGone bool       // the reader closed the output
}

// NewEventLines returns a printer of events to a writer. The caller closes it.
func NewEventLines(to io.Writer) *EventLines {
	l := &EventLines{to: to}
	l.more = sync.NewCond(&l.mu)
	l.writer.Go(l.writeLoop)
	return l
}

// Observe queues the event of an update, if it has one.
func (l *EventLines) Observe(u engine.Update) {
	if l == nil || u.Event == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readerGone {
		return
	}
	if line, err := u.Event.AppendLine(l.waiting); err == nil { // always: the event is in the journal
		l.waiting = line
	}
	l.more.Signal()
}

// Close waits until all events are written, or the reader has closed the output.
func (l *EventLines) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.ended = true
	l.more.Signal()
	l.mu.Unlock()
	l.writer.Wait()
}

// writeLoop writes the queued lines until Close.
func (l *EventLines) writeLoop() {
	for {
		text, ok := l.next()
		if !ok {
			return
		}
		if _, err := l.to.Write(text); err != nil {
			l.mu.Lock()
			l.readerGone, l.waiting = true, nil
			l.mu.Unlock()
		}
	}
}

// next waits for queued lines; ok is false after the last.
func (l *EventLines) next() (text []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.ended {
		l.more.Wait()
	}
	text, l.waiting = l.waiting, nil
	return text, len(text) > 0
}
