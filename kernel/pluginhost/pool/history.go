package pool

import (
	"time"
)

// The restart policy: the pause before a start grows with every fall since the last good call, and a
// process that falls again after three restarts within the window is left alone until the window is over.
const (
	firstPause  = 250 * time.Millisecond
	longestWait = 30 * time.Second
	restarts    = 3
	window      = time.Minute
)

// history remembers the falls of one key. The pool's mutex guards it.
type history struct {
	falls  []time.Time // at most restarts+1, oldest first
	streak int         // falls since the last good call
	last   string      // the last words of the last process
}

func (h *history) fell(now time.Time, words string) {
	h.falls = append(h.falls, now)
	if extra := len(h.falls) - (restarts + 1); extra > 0 {
		h.falls = h.falls[extra:]
	}
	h.streak++
	h.last = words
}

// worked is called after a call that came back.
func (h *history) worked() { h.streak = 0 }

// pause is how long to wait before the next start, 0 for not at all.
func (h *history) pause(now time.Time) time.Duration {
	if h.streak == 0 || len(h.falls) == 0 {
		return 0
	}
	wait := firstPause
	for range h.streak - 1 {
		wait = min(2*wait, longestWait)
	}
	return max(0, wait-now.Sub(h.falls[len(h.falls)-1]))
}

// unhealthy is how long the key is left alone, 0 for not at all.
func (h *history) unhealthy(now time.Time) time.Duration {
	if len(h.falls) <= restarts {
		return 0
	}
	return max(0, window-now.Sub(h.falls[0]))
}
