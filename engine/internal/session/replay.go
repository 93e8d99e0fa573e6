package session

import (
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// replay is the result of one pass over a session's journal, made when the session is opened. It keeps no
// events, because a session may have millions.
type replay struct {
	marker  string // of the session's processes
	log     journal.Summary
	kernels []process.Marker // kernels that have run the session
	// The fields below are nil if no plan is known.
	fold      *recovery.Fold
	stateFile *statefile.Writer
	timeline  *timeline.Timeline
}

// newReplay returns an empty replay for a plan, which may be nil.
func (s *session) newReplay(p *plan.Plan) *replay {
	t := &replay{marker: s.processMarker()}
	if p != nil {
		t.fold, t.stateFile, t.timeline = recovery.NewFold(s.dir, p), statefile.New(s.dir, p), timeline.New(p)
	}
	return t
}

func (t *replay) apply(e event.Event) {
	if e.Type == event.KernelStart {
		t.addKernel(e)
	}
	if t.fold != nil {
		t.fold.Apply(e)
		t.stateFile.Replay(e)
		t.timeline.Apply(e)
	}
}

// addKernel adds the process marker of a kernel.
func (t *replay) addKernel(e event.Event) {
	d, err := event.Decode[event.KernelStartData](e)
	if err != nil {
		return
	}
	_, ticks, _ := strings.Cut(d.StartTime, "/") // follows the id of the boot
	if start, err := strconv.ParseUint(ticks, 10, 64); err == nil {
		t.kernels = append(t.kernels, process.Marker{Run: t.marker, PID: d.PID, Start: start})
	}
}

// isComplete reports whether the journal alone yields the session's state.
func (t *replay) isComplete() bool { return t.fold != nil && t.fold.Complete(t.log) }

// replayJournal reads the journal of a session that is not opened for writing.
func (s *session) replayJournal(p *plan.Plan) (*replay, error) {
	t := s.newReplay(p)
	var err error
	t.log, err = journal.Read(s.dir, func(e event.Event) error {
		t.apply(e)
		return nil
	})
	return t, err
}

// replayAgain reads the journal with the session's recovered plan, up to the last event read before.
func (s *session) replayAgain() (*replay, error) {
	t := s.newReplay(s.plan)
	t.log = s.replay.log
	_, err := journal.Read(s.dir, func(e event.Event) error {
		if e.Seq <= t.log.Last.Seq {
			t.apply(e)
		}
		return nil
	})
	return t, err
}

// previousKernels returns the kernels that have run a session, as far as its journal is readable.
func (s *session) previousKernels() []process.Marker {
	t, err := s.replayJournal(nil)
	if err != nil {
		s.log.Debug("could not read the journal", "error", err)
	}
	return t.kernels
}

// useReplay continues the derived files of a session from a replay.
func (s *session) useReplay(t *replay) {
	s.replay, s.stateFile, s.timeline, s.phases = t, t.stateFile, t.timeline, phases{}
}
