package acp

import (
	"sync"
	"time"
)

// stopwatch measures the time with at least one wait in progress. It is safe for concurrent use.
type stopwatch struct {
	mu    sync.Mutex // guards:
	waits int
	since time.Time
	sum   time.Duration
}

// hold starts a wait, which ends when release is called.
func (w *stopwatch) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits++; w.waits == 1 {
		w.since = time.Now()
	}
	return w.release
}

func (w *stopwatch) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits--; w.waits == 0 {
		w.sum += time.Since(w.since)
	}
}

// total returns the time measured so far.
func (w *stopwatch) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits > 0 {
		return w.sum + time.Since(w.since)
	}
	return w.sum
}
