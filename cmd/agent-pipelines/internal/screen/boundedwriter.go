package screen

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
)

const (
	// maxWaiting bounds the waiting lines, in bytes. As much again may be in the current write.
	maxWaiting = 256 << 10
	// maxPatience bounds the time that writers wait until the reader has caught up.
	maxPatience = time.Second
)

// BoundedWriter forwards written lines to a reader that may be slow. A write waits for a short time and no longer: then
// lines are dropped until the reader has caught up, and a line in their place has their number. If the reader is gone, all
// lines are dropped. It is safe for concurrent use.
type BoundedWriter struct {
	to    io.Writer
	limit int           // of the waiting lines in bytes, 0 for none
	more  chan struct{} // holds a token while there is something to do

	mu       sync.Mutex // guards:
	waiting  []byte
	freed    chan struct{} // closed when the waiting lines are taken
	patience time.Duration // the rest of it
	dropped  int           // number of lines dropped after the waiting ones
	rest     chan struct{} // closed while nothing waits and no write runs
	closed   bool          // all further lines are dropped
}

// NewBoundedWriter returns a writer that forwards to another one, which may block. The caller closes it.
func NewBoundedWriter(to io.Writer) *BoundedWriter { return newWriter(to, maxWaiting) }

// newWriter returns a writer with a limit; without one, it never waits and drops nothing.
func newWriter(to io.Writer, limit int) *BoundedWriter {
	r := &BoundedWriter{to: to, limit: limit, more: make(chan struct{}, 1), freed: make(chan struct{}), patience: maxPatience, rest: make(chan struct{})}
	close(r.rest)
	var passing sync.WaitGroup // waited for only through rest: a blocked write ends with the process
	passing.Go(r.forward)
	return r
}

// Write forwards or drops b. It never fails.
func (r *BoundedWriter) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.isFull(len(b)) && r.dropped == 0 && r.patience > 0 {
		r.await()
	}
	switch {
	case r.closed || len(b) == 0:
		return len(b), nil
	case r.dropped > 0, r.isFull(len(b)):
		r.dropped += bytes.Count(b, []byte("\n"))
		return len(b), nil
	}
	if r.resting() {
		r.rest = make(chan struct{})
	}
	r.waiting = append(r.waiting, b...)
	r.wake()
	return len(b), nil
}

// isFull reports whether another text of the size must wait.
func (r *BoundedWriter) isFull(size int) bool {
	return r.limit > 0 && len(r.waiting) > 0 && len(r.waiting)+size > r.limit
}

// await waits until the waiting lines are taken, while patience lasts. The mutex is held before and after.
func (r *BoundedWriter) await() {
	freed, began, timer := r.freed, time.Now(), time.NewTimer(r.patience)
	r.mu.Unlock()
	select {
	case <-freed:
	case <-timer.C:
	}
	timer.Stop()
	r.mu.Lock()
	r.patience -= time.Since(began)
}

// Flush waits until all written lines are forwarded, at most for limit; 0 means without a limit. At the limit it closes
// the writer and drops the waiting lines.
func (r *BoundedWriter) Flush(limit time.Duration) {
	r.mu.Lock()
	rest := r.rest
	r.mu.Unlock()
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-rest:
	case <-late:
		r.Close()
	}
}

// Close ends the writer and drops the waiting lines; call Flush before to forward them.
func (r *BoundedWriter) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed, r.dropped = true, 0
	r.nextLines()
	if !r.resting() {
		close(r.rest)
	}
	r.wake()
}

func (r *BoundedWriter) forward() {
	for range r.more {
		for {
			text, ok := r.next()
			if !ok {
				return
			}
			if text == nil {
				break
			}
			if _, err := r.to.Write(text); err != nil {
				r.Close()
			}
		}
	}
}

// next returns the next text to forward, nil for none; ok is false at the end.
func (r *BoundedWriter) next() (text []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false
	}
	text = r.nextLines()
	if text == nil && r.dropped > 0 {
		text = fmt.Appendf(nil, "  … %d lines are left out here, since they were not read; events.jsonl of the session has all events\n", r.dropped)
		r.dropped = 0
	}
	if text == nil && !r.resting() {
		close(r.rest)
		r.patience = maxPatience
	}
	return text, true
}

// nextLines returns the waiting lines, and empties the list.
func (r *BoundedWriter) nextLines() []byte {
	text := r.waiting
	r.waiting = nil
	close(r.freed)
	r.freed = make(chan struct{})
	return text
}

func (r *BoundedWriter) resting() bool {
	select {
	case <-r.rest:
		return true
	default:
		return false
	}
}

func (r *BoundedWriter) wake() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}

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
