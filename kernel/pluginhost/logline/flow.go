package logline

import "time"

const (
	// burst is how many lines may come at once, perSecond how many in the long run.
	burst     = 500
	perSecond = 100
)

// flow lets so many lines through and counts the others.
type flow struct {
	free   float64 // lines that may pass
	at     time.Time
	missed int
}

func newFlow(now time.Time) flow { return flow{free: burst, at: now} }

// pass reports whether a line may pass, and how many before it might not and were not told of yet.
func (f *flow) pass(now time.Time) (ok bool, missed int) {
	f.free = min(burst, f.free+now.Sub(f.at).Seconds()*perSecond)
	f.at = now
	if f.free < 1 {
		f.missed++
		return false, 0
	}
	f.free--
	// Told of once a part of the flow is free again, so that the telling is no flood itself.
	if f.free < perSecond/2 && f.missed > 0 {
		return true, 0
	}
	return true, f.leftOut()
}

// leftOut is how many lines were left out and not told of.
func (f *flow) leftOut() int {
	n := f.missed
	f.missed = 0
	return n
}
