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
// lines are dropped until the reader has caught up, and a line in their place reports their number. If the reader is gone, all
// lines are dropped. It is safe for concurrent use.
type BoundedWriter struct {
	to    io.Writer
	limit int // of the waiting lines in bytes, 0 for no limit

	mu       sync.Mutex // guards:
	changed  *sync.Cond // signals a change of the fields below
	waiting  []byte
	patience time.Duration // the rest of maxPatience
	dropped  int           // number of lines dropped after the waiting lines
	writing  bool          // a write to the reader runs
	closed   bool          // all further lines are dropped
}

// NewBoundedWriter returns a writer that forwards to the writer to, which may block. The caller closes it.
func NewBoundedWriter(to io.Writer) *BoundedWriter { return newWriter(to, maxWaiting) }

// newWriter returns a writer with a limit; without a limit, it never waits and drops nothing.
func newWriter(to io.Writer, limit int) *BoundedWriter {
	r := &BoundedWriter{to: to, limit: limit, patience: maxPatience}
	r.changed = sync.NewCond(&r.mu)
	var passing sync.WaitGroup // never waited for: a blocked write ends with the process
	passing.Go(r.forward)
	return r
}

// Write forwards or drops b. It never fails.
func (r *BoundedWriter) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.isFull(len(b)) && r.dropped == 0 && r.patience > 0 {
		began := time.Now()
		r.await(r.patience)
		r.patience -= time.Since(began)
	}
	switch {
	case r.closed || len(b) == 0:
		return len(b), nil
	case r.dropped > 0, r.isFull(len(b)):
		r.dropped += bytes.Count(b, []byte("\n"))
		return len(b), nil
	}
	r.waiting = append(r.waiting, b...)
	r.changed.Broadcast()
	return len(b), nil
}

// isFull reports whether another text of the size must wait.
func (r *BoundedWriter) isFull(size int) bool {
	return r.limit > 0 && len(r.waiting) > 0 && len(r.waiting)+size > r.limit
}

// await waits for a change, for at most limit. The mutex is held before and after.
func (r *BoundedWriter) await(limit time.Duration) {
	late := time.AfterFunc(limit, func() {
		r.mu.Lock() // the mutex is free only when the wait has begun
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer late.Stop()
	r.changed.Wait()
}

// Flush waits until all written lines are forwarded, at most for limit; 0 means without a limit. At the limit it closes
// the writer and drops the waiting lines.
func (r *BoundedWriter) Flush(limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := time.Now().Add(limit)
	for !r.closed && (r.writing || len(r.waiting) > 0 || r.dropped > 0) {
		switch left := time.Until(end); {
		case limit == 0:
			r.changed.Wait()
		case left > 0:
			r.await(left)
		default:
			r.close()
		}
	}
}

// Close ends the writer and drops the waiting lines; call Flush before to forward them.
func (r *BoundedWriter) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

func (r *BoundedWriter) close() {
	r.closed, r.waiting, r.dropped = true, nil, 0
	r.changed.Broadcast()
}

func (r *BoundedWriter) forward() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.closed {
		text := r.next()
		r.writing = text != nil
		r.changed.Broadcast() // lines were taken, or none is left
		if text == nil {
			r.patience = maxPatience
			r.changed.Wait()
			continue
		}
		r.mu.Unlock()
		_, err := r.to.Write(text)
		r.mu.Lock()
		if err != nil {
			r.close()
		}
	}
}

// next takes the next text to forward, nil for none.
func (r *BoundedWriter) next() []byte {
	text := r.waiting
	r.waiting = nil
	if text == nil && r.dropped > 0 {
		text = fmt.Appendf(nil, "  … %d lines are left out here, since they were not read; events.jsonl of the session has all events\n", r.dropped)
		r.dropped = 0
	}
	return text
}

// EventLines prints the events of a running session, one per line. The session never waits for the reader: unread events
// are buffered in memory and none is dropped. A nil *EventLines prints nothing.
type EventLines struct{ out *BoundedWriter }

// NewEventLines returns a printer of events to a writer. The caller closes it.
func NewEventLines(to io.Writer) *EventLines { return &EventLines{newWriter(to, 0)} }

// Observe queues the event of an update, if the update has an event.
func (l *EventLines) Observe(u engine.Update) {
	if l == nil || u.Event == nil {
		return
	}
	if line, err := u.Event.AppendLine(nil); err == nil { // no error: the event was in the journal
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
