package recovery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// step is an event of a journal of this engine, with its line.
type step struct {
	event event.Event
	line  int
	// gap names the events that are missing before this event, "" for none.
	gap string
}

// fault is a place in a journal where something is missing or wrong.
type fault struct {
	message string
	// until is the number of the last event that may be lost at this place.
	until int64
	// open reports whether no later event shows where the run was.
	open bool
}

// order returns the readable lines in the order of their numbers: as many as possible, without lines at a wrong
// position, repeated lines and lines of an outdated epoch. tail is the fault at the end, where lines may be lost. Its
// message is "" if there is no fault.
func (f *SessionFiles) order() (steps []step, tail fault) {
	epoch, begun := 0, false // begun is false while no kernel is known to have begun the epoch: the number may be damaged
	all := f.numberedSteps()
	for _, s := range ascending(all) {
		e := s.event
		if e.Epoch < epoch {
			continue
		}
		begun = begun && e.Epoch == epoch || e.Type == event.KernelStart || begins(e)
		if e.Seq > tail.until+1 && !begins(e) { // lines before the beginning of a run do not matter
			s.gap = missing(s.line, tail.until, e.Seq)
		}
		tail.until, epoch = e.Seq, max(epoch, e.Epoch)
		steps = append(steps, s)
	}
	last := tail.until
	for _, s := range all {
		if e := s.event; e.Seq > last && (e.Epoch >= epoch || !begun) {
			tail = fault{message: fmt.Sprintf("line %d, event %d of epoch %d, does not follow from the lines before it", s.line, e.Seq, e.Epoch), until: e.Seq}
		}
	}
	if tail.message != "" {
		return steps, tail
	}
	for i := range f.Lines {
		switch l := &f.Lines[i]; {
		case f.readable(l):
			tail = fault{until: last}
		case !l.Torn:
			tail = fault{message: fmt.Sprintf("line %d cannot be read, and no later line shows its content", l.Number), until: tail.until + 1}
		}
	}
	return steps, tail
}

// numberedSteps returns the readable lines that have a number.
func (f *SessionFiles) numberedSteps() []step {
	var good []step
	for i := range f.Lines {
		if l := &f.Lines[i]; f.readable(l) && l.Event.Seq > 0 {
			good = append(good, step{event: l.Event, line: l.Number})
		}
	}
	return good
}

// ascending returns a longest subsequence whose numbers ascend.
func ascending(steps []step) []step {
	var ends []int // at n: the index of the step with the smallest number that ends a subsequence of n+1 steps
	before := make([]int, len(steps))
	for i, s := range steps {
		n, _ := slices.BinarySearchFunc(ends, s.event.Seq, func(at int, seq int64) int { return cmp.Compare(steps[at].event.Seq, seq) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else if steps[ends[n]].event.Seq != s.event.Seq { // of two steps with the same number, the first counts
			ends[n] = i
		}
	}
	kept := make([]step, len(ends))
	at := -1
	if len(ends) > 0 {
		at = ends[len(ends)-1]
	}
	for i := len(kept) - 1; i >= 0; i-- {
		kept[i], at = steps[at], before[at]
	}
	return kept
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

// run drops the lines before the newest session_start or session_imported.
func run(steps []step) []step {
	for i := len(steps) - 1; i >= 0; i-- {
		if begins(steps[i].event) {
			return steps[i:]
		}
	}
	return steps
}
