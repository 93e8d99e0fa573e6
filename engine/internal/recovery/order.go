package recovery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/fold"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// order returns the readable lines in the order of their numbers: as many as possible, without lines at a wrong
// position, repeated lines and lines of an outdated epoch. tail is the fault at the end, where lines may be lost. Its
// message is "" if there is no fault.
func (f *SessionFiles) order() (steps []fold.Step, tail fold.Fault) {
	epoch, begun := 0, false // begun is false while no kernel is known to have begun the epoch: the number may be damaged
	all := f.numberedSteps()
	for _, s := range ascending(all) {
		e := s.Event
		if e.Epoch < epoch {
			continue
		}
		begun = begun && e.Epoch == epoch || e.Type == event.KernelStart || fold.Begins(e)
		if e.Seq > tail.Until+1 && !fold.Begins(e) { // lines before the beginning of a run do not matter
			s.Gap = missing(s.Line, tail.Until, e.Seq)
		}
		tail.Until, epoch = e.Seq, max(epoch, e.Epoch)
		steps = append(steps, s)
	}
	last := tail.Until
	for _, s := range all {
		if e := s.Event; e.Seq > last && (e.Epoch >= epoch || !begun) {
			tail = fold.Fault{Message: fmt.Sprintf("line %d, event %d of epoch %d, does not follow from the lines before it", s.Line, e.Seq, e.Epoch), Until: e.Seq}
		}
	}
	if tail.Message != "" {
		return steps, tail
	}
	for i := range f.Lines {
		switch l := &f.Lines[i]; {
		case f.readable(l):
			tail = fold.Fault{Until: last}
		case !l.Torn:
			tail = fold.Fault{Message: fmt.Sprintf("line %d cannot be read, and no later line shows its content", l.Number), Until: tail.Until + 1}
		}
	}
	return steps, tail
}

// numberedSteps returns the readable lines that have a number.
func (f *SessionFiles) numberedSteps() []fold.Step {
	var good []fold.Step
	for i := range f.Lines {
		if l := &f.Lines[i]; f.readable(l) && l.Event.Seq > 0 {
			good = append(good, fold.Step{Event: l.Event, Line: l.Number})
		}
	}
	return good
}

// ascending returns a longest subsequence whose numbers ascend.
func ascending(steps []fold.Step) []fold.Step {
	var ends []int // at n: the index of the step with the smallest number that ends a subsequence of n+1 steps
	before := make([]int, len(steps))
	for i, s := range steps {
		n, _ := slices.BinarySearchFunc(ends, s.Event.Seq, func(at int, seq int64) int { return cmp.Compare(steps[at].Event.Seq, seq) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else if steps[ends[n]].Event.Seq != s.Event.Seq { // of two steps with the same number, the first counts
			ends[n] = i
		}
	}
	kept := make([]fold.Step, len(ends))
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

// run drops the lines before the newest session_start or session_imported.
func run(steps []fold.Step) []fold.Step {
	for i := len(steps) - 1; i >= 0; i-- {
		if fold.Begins(steps[i].Event) {
			return steps[i:]
		}
	}
	return steps
}
