package engine

import (
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// past is what a session's journal tells those who go on with it. All of it is made in one reading, and no event is kept: a
// session may have millions.
type past struct {
	marker  string // of the session's processes
	log     journal.Log
	kernels []process.Marker // those that have worked on it
	// The rest is made where there is a plan to read the journal with.
	fold    *recovery.Fold
	view    *statefile.Writer
	account *metrics.Collector
}

// pastOf is the past of a session that follows a plan, nil if none is known, before its first event.
func (s *session) pastOf(p *plan.Plan) *past {
	t := &past{marker: s.marker()}
	if p != nil {
		t.fold, t.view, t.account = recovery.NewFold(s.dir, p), statefile.New(s.dir, p), metrics.New(p)
	}
	return t
}

func (t *past) take(e event.Event) {
	if e.Type == event.KernelStart {
		t.kernel(e)
	}
	if t.fold != nil {
		t.fold.Apply(e)
		t.view.Past(e)
		t.account.Apply(e)
	}
}

// kernel adds a kernel as its processes are marked.
func (t *past) kernel(e event.Event) {
	d, err := event.Decode[event.KernelStartData](e)
	if err != nil {
		return
	}
	_, ticks, _ := strings.Cut(d.StartTime, "/") // after the boot that they count from
	if start, err := strconv.ParseUint(ticks, 10, 64); err == nil {
		t.kernels = append(t.kernels, process.Marker{Run: t.marker, PID: d.PID, Start: start})
	}
}

// whole reports whether the journal alone tells how the session stands.
func (t *past) whole() bool { return t.fold != nil && t.fold.Whole(t.log) }

// readPast reads the journal of a session that is not opened for work.
func (s *session) readPast(p *plan.Plan) (*past, error) {
	t := s.pastOf(p)
	var err error
	t.log, err = journal.Read(s.dir, func(e event.Event) error {
		t.take(e)
		return nil
	})
	return t, err
}

// readAgain reads the journal with the plan that the session turned out to have, up to where it was read before.
func (s *session) readAgain() (*past, error) {
	t := s.pastOf(s.plan)
	t.log = s.past.log
	_, err := journal.Read(s.dir, func(e event.Event) error {
		if e.Seq <= t.log.Last.Seq {
			t.take(e)
		}
		return nil
	})
	return t, err
}

// pastKernels are those that have worked on a session that is not opened for work, as far as its journal can be read.
func (s *session) pastKernels() []process.Marker {
	t, err := s.readPast(nil)
	if err != nil {
		s.log.Debug("journal not read", "error", err)
	}
	return t.kernels
}

// follow begins the views of a session with its past.
func (s *session) follow(t *past) {
	s.past, s.view, s.account, s.phases = t, t.view, t.account, phases{}
}
