package screen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// timerSet reports a timer that begins.
func timerSet(at place, d event.TimerSetData) []string {
	if d.Purpose == state.PurposeGuardrail {
		return nil
	}
	return []string{wait(at.branchPrefix(), d.Purpose, at.Event.Time, at.Event.Time.Add(d.After))}
}

// pendingTimers reports the timers of a resumed session: a usage limit may last for hours, and the run must not look
// like a run that hangs.
func pendingTimers(at place) []string {
	type armed struct {
		state.Timer
		prefix string
	}
	var timers []armed
	for key, t := range at.State.Timers {
		if !t.Due.After(at.Event.Time) || t.Purpose == state.PurposeGuardrail {
			continue
		}
		a := armed{Timer: t}
		if _, location, _, ok := key.Parse(); ok && location.Branch != "" {
			a.prefix = location.Branch + ": "
		}
		timers = append(timers, a)
	}
	slices.SortFunc(timers, func(a, b armed) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.prefix, b.prefix)) })
	var lines []string
	for _, t := range timers {
		lines = append(lines, wait(t.prefix, t.Purpose, at.Event.Time, t.Due))
	}
	return lines
}

// wait returns the line about a pause between two times. The line about a long pause includes its end in local time.
func wait(prefix, purpose string, from, due time.Time) string {
	after := due.Sub(from)
	switch {
	case purpose == "delay":
		if prefix != "" { // the Bash engine does not indent this line
			prefix = "    " + prefix
		}
		return prefix + fmt.Sprintf("Waiting %d seconds...", int(after.Round(time.Second)/time.Second))
	case after < time.Minute:
		return "  " + prefix + fmt.Sprintf("Trying again in %s...", after.Round(100*time.Millisecond))
	}
	return "  " + prefix + fmt.Sprintf("Trying again in %s, at %s...", after.Round(time.Second), clock(from, due))
}

// clock formats a future time in local time, with the day unless it is today.
func clock(now, t time.Time) string {
	now, t = now.Local(), t.Local()
	if now.YearDay() == t.YearDay() && now.Year() == t.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("Jan 2 15:04:05")
}
