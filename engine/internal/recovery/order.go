package recovery

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// step is an event of a journal of ours.
type step struct {
	event event.Event
	line  int
	// fault names the events that are missing before it, or says that it is misplaced and does not count; "" for neither.
	fault     string
	misplaced bool
}

// fault is a place in a journal where something is missing or wrong.
type fault struct {
	message string
	// until is the number of the last event that may be lost there.
	until int64
	// open reports that no later event shows where the run was.
	open bool
}

// order returns the readable lines and the last number, without lines that are there twice and lines of an outdated
// epoch. tail is the fault of an unreadable end, "" for none.
func (f *SessionFiles) order() (steps []step, last int64, tail string) {
	known := map[int64]bool{}
	epoch, begun := 0, false // begun is false while no kernel is known to have begun the epoch: its number may be damaged
	for i := range f.Lines {
		l := &f.Lines[i]
		if !f.readable(l) {
			if !l.Torn {
				tail = fmt.Sprintf("line %d cannot be read, and no later line shows its content", l.Number)
			}
			continue
		}
		tail = ""
		e, begins := l.Event, begins(l.Event)
		if e.Seq == 0 || known[e.Seq] || begun && e.Epoch < epoch { // of the Bash engine, there twice, or outdated
			continue
		}
		s := step{event: e, line: l.Number}
		switch {
		case e.Seq < last || e.Epoch < epoch:
			s.misplaced = true
			s.fault = fmt.Sprintf("line %d, event %d of epoch %d, does not follow from the lines before it", l.Number, e.Seq, e.Epoch)
		case e.Seq > last+1 && !begins: // lines before a beginning are history
			s.fault = missing(l.Number, last, e.Seq)
		}
		if !s.misplaced {
			begun = begun && e.Epoch == epoch || e.Type == event.KernelStart || begins
			last, epoch = e.Seq, e.Epoch
		}
		known[e.Seq] = true
		steps = append(steps, s)
	}
	return steps, last, tail
}

func missing(line int, after, before int64) string {
	if before == after+2 {
		return fmt.Sprintf("event %d is missing before line %d", after+1, line)
	}
	return fmt.Sprintf("events %d to %d are missing before line %d", after+1, before-1, line)
}

// begins reports whether folding restarts at an event.
func begins(e event.Event) bool {
	return e.RunID != "" && (e.Type == event.SessionStart || e.Type == event.SessionImported)
}

// run drops the lines before the newest run, or before the state that it was imported with.
func run(steps []step) []step {
	for i := len(steps) - 1; i >= 0; i-- {
		if begins(steps[i].event) {
			return steps[i:]
		}
	}
	return steps
}
