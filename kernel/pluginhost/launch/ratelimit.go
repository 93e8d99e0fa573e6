package launch

import "time"

const (
	// logBurst is the number of lines that may come at once, linesPerSecond the long-term rate.
	logBurst       = 500
	linesPerSecond = 100
)

// rateLimit lets lines pass at a limited rate and counts the dropped ones.
type rateLimit struct {
	free    float64 // lines that may pass
	last    time.Time
	dropped int
}

func newRateLimit(now time.Time) rateLimit { return rateLimit{free: logBurst, last: now} }

// allow reports whether a line may pass, and the number of dropped lines that were not reported yet.
func (f *rateLimit) allow(now time.Time) (ok bool, missed int) {
	f.free = min(logBurst, f.free+now.Sub(f.last).Seconds()*linesPerSecond)
	f.last = now
	if f.free < 1 {
		f.dropped++
		return false, 0
	}
	f.free--
	// The number is reported once enough lines may pass again, so that the reports are not a flood themselves.
	if f.free < linesPerSecond/2 && f.dropped > 0 {
		return true, 0
	}
	return true, f.resetDropped()
}

// resetDropped returns and resets the number of dropped lines that were not reported.
func (f *rateLimit) resetDropped() int {
	n := f.dropped
	f.dropped = 0
	return n
}
