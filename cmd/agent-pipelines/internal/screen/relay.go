package screen

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxWaiting bounds what waits for a reader, in bytes: some thousands of lines. As much again may be under way.
	maxWaiting = 256 << 10
	// maxPatience bounds how long writers wait for room until a reader has caught up: enough for one that reads at all.
	maxPatience = time.Second
)

// Relay passes on what is written to it as fast as the reader at the other end takes it. Writers wait for a slow one a
// moment and no longer: from then on lines are left out until it has taken all before them, and a line in their place
// says how many. A relay to somebody who is gone takes everything and keeps nothing. It is safe for concurrent use.
type Relay struct {
	to   io.Writer
	more chan struct{} // holds one: there is something to do

	mu       sync.Mutex // guards:
	waiting  []byte
	room     chan struct{} // closed when what waits is taken
	patience time.Duration // what is left of it
	left     int           // lines left out behind what waits
	rest     chan struct{} // closed while nothing waits and nothing is under way
	closed   bool          // nothing is taken any more
}

// NewRelay returns a relay to a writer, which may block. The caller closes it.
func NewRelay(to io.Writer) *Relay {
	r := &Relay{to: to, more: make(chan struct{}, 1), room: make(chan struct{}), patience: maxPatience, rest: make(chan struct{})}
	close(r.rest)
	var passing sync.WaitGroup // nobody waits for it but by way of rest: a write that is stuck ends with the process
	passing.Go(r.pass)
	return r
}

// Write takes b, or leaves it out. It never fails.
func (r *Relay) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 && len(r.waiting)+len(b) > maxWaiting && r.left == 0 && r.patience > 0 {
		r.await()
	}
	switch {
	case r.closed || len(b) == 0:
		return len(b), nil
	case r.left > 0, len(r.waiting) > 0 && len(r.waiting)+len(b) > maxWaiting:
		r.left += bytes.Count(b, []byte("\n"))
		return len(b), nil
	}
	if r.resting() {
		r.rest = make(chan struct{})
	}
	r.waiting = append(r.waiting, b...)
	r.wake()
	return len(b), nil
}

// await waits for room while patience lasts. The mutex is held before and after.
func (r *Relay) await() {
	room, began, timer := r.room, time.Now(), time.NewTimer(r.patience)
	r.mu.Unlock()
	select {
	case <-room:
	case <-timer.C:
	}
	timer.Stop()
	r.mu.Lock()
	r.patience -= time.Since(began)
}

// Flush waits until all that was written is passed on, at most for limit; 0 is for as long as it takes. If that is not
// enough, the relay is closed and what waits is left out.
func (r *Relay) Flush(limit time.Duration) {
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

// Close ends the relay. What has not been passed on is left out; to wait for that, flush it before.
func (r *Relay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed, r.left = true, 0
	r.take()
	if !r.resting() {
		close(r.rest)
	}
	r.wake()
}

func (r *Relay) pass() {
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

// next is what is to be passed on, nil for nothing; ok is false at the end.
func (r *Relay) next() (text []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false
	}
	text = r.take()
	if text == nil && r.left > 0 {
		text = fmt.Appendf(nil, "  … %d lines are left out here, since they were not read; events.jsonl of the session has all events\n", r.left)
		r.left = 0
	}
	if text == nil && !r.resting() {
		close(r.rest)
		r.patience = maxPatience
	}
	return text, true
}

// take takes what waits, which makes room.
func (r *Relay) take() []byte {
	text := r.waiting
	r.waiting = nil
	close(r.room)
	r.room = make(chan struct{})
	return text
}

func (r *Relay) resting() bool {
	select {
	case <-r.rest:
		return true
	default:
		return false
	}
}

func (r *Relay) wake() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}
