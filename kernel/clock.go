package kernel

import (
	"maps"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// deadlines are the timers of the state on the process's monotonic clock: a delay of two seconds takes two seconds,
// even if the time of day is changed.
type deadlines map[event.Key]deadline

type deadline struct {
	due time.Time // as in the state
	at  time.Time // due on the monotonic clock
}

// set adds the new and changed timers of a state and removes the ended ones. now is the journal's time of the last
// event, which may differ from the process's clock.
func (d deadlines) set(timers map[event.Key]state.Timer, now time.Time) {
	if len(d) == 0 && len(timers) == 0 {
		return
	}
	for key, t := range timers {
		if previous, ok := d[key]; !ok || !previous.due.Equal(t.Due) {
			d[key] = deadline{t.Due, time.Now().Add(t.Due.Sub(now))}
		}
	}
	maps.DeleteFunc(d, func(key event.Key, _ deadline) bool { _, armed := timers[key]; return !armed })
}

// remaining returns the time until a timer fires. The timer of an escalation also follows the time of day: it fires
// early if the clock is set forward.
func (d deadlines) remaining(key event.Key, t state.Timer) time.Duration {
	left := time.Until(d[key].at)
	if t.Purpose == state.PurposeEscalation {
		left = min(left, time.Until(t.Due))
	}
	return left
}

// startTime returns the time of the event that started or resumed the run.
func startTime(st state.State) time.Time {
	if st.ResumedAt != nil && st.ResumedAt.After(st.StartedAt) {
		return *st.ResumedAt
	}
	return st.StartedAt
}
