package kernel

import (
	"maps"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// alarms are the timers of the state on this process's own clock, which nobody can set: a pause of two seconds takes two
// seconds, whatever becomes of the time of day meanwhile.
type clocks map[event.Key]clock

type clock struct {
	due time.Time // as the state has it
	at  time.Time // when that is, with this process's own clock
}

// set follows the timers of a state after an event of the given time. Each is measured from the event by which it was
// set, because the journal's time does not go back when the system's does.
func (a clocks) set(timers map[event.Key]state.Timer, now time.Time) {
	if len(a) == 0 && len(timers) == 0 {
		return
	}
	for key, t := range timers {
		if previous, ok := a[key]; !ok || !previous.due.Equal(t.Due) {
			a[key] = clock{t.Due, time.Now().Add(t.Due.Sub(now))}
		}
	}
	maps.DeleteFunc(a, func(key event.Key, _ clock) bool { _, armed := timers[key]; return !armed })
}

// left is how long a timer has still to run. The time that a person has to answer is one of day: it ends early if that
// is set forward.
func (a clocks) remaining(key event.Key, t state.Timer) time.Duration {
	left := time.Until(a[key].at)
	if t.Purpose == state.PurposeEscalation {
		left = min(left, time.Until(t.Due))
	}
	return left
}

// began is the time of the event by which the run began or went on.
func startTime(st state.State) time.Time {
	if st.ResumedAt != nil && st.ResumedAt.After(st.StartedAt) {
		return *st.ResumedAt
	}
	return st.StartedAt
}
