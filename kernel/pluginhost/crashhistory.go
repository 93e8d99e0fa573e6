package pluginhost

import (
	"time"
)

// The restart policy: the pause before a start doubles with each crash since the last call that left the process
// alive. A process that crashes again after three restarts within the window is not started until the window ends.
const (
	firstRestartPause   = 250 * time.Millisecond
	longestRestartPause = 30 * time.Second
	maxRestarts         = 3
	restartWindow       = time.Minute
)

// crashHistory records the crashes of one [processKey]. The pool's mutex guards it.
type crashHistory struct {
	crashes    []time.Time // at most maxRestarts+1, oldest first
	streak     int         // crashes since the last call that left the process alive
	lastOutput string      // the end of the stderr of the last process
}

func (h *crashHistory) add(now time.Time, words string) {
	h.crashes = append(h.crashes, now)
	if extra := len(h.crashes) - (maxRestarts + 1); extra > 0 {
		h.crashes = h.crashes[extra:]
	}
	h.streak++
	h.lastOutput = words
}

// reset is called after a call that left the process alive.
func (h *crashHistory) reset() { h.streak = 0 }

// pause returns the time before the next start, 0 for none.
func (h *crashHistory) pause(now time.Time) time.Duration {
	if h.streak == 0 || len(h.crashes) == 0 {
		return 0
	}
	wait := firstRestartPause
	for range h.streak - 1 {
		wait = min(2*wait, longestRestartPause)
	}
	return max(0, wait-now.Sub(h.crashes[len(h.crashes)-1]))
}

// cooldown returns the time in which no process may be started, 0 if one may be started now.
func (h *crashHistory) cooldown(now time.Time) time.Duration {
	if len(h.crashes) <= maxRestarts {
		return 0
	}
	return max(0, restartWindow-now.Sub(h.crashes[0]))
}
