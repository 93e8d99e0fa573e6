package fold

import (
	"errors"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Fold folds a journal while it is read, keeps no events, and reports whether the journal is complete.
type Fold struct {
	dir    *store.Dir
	replay Replay
	// foreign reports whether an event is of another session.
	foreign bool
}

// New returns a fold of a session's journal before its first event.
func New(dir *store.Dir, p *plan.Plan) *Fold { return &Fold{dir: dir, replay: Replay{Plan: p}} }

// Apply applies the next event. Invalid transitions are skipped.
func (f *Fold) Apply(e event.Event) {
	f.foreign = f.foreign || e.Session != "" && e.Session != f.dir.Session()
	if Begins(e) { // faults of earlier runs do not matter
		f.replay.Faults = nil
	}
	f.replay.Apply(Step{Event: e})
	f.replay.Faults = f.replay.Faults[:min(len(f.replay.Faults), 1)]
}

// State returns the state after the applied events. The error is that of the first event that could not be read.
func (f *Fold) State() (state.State, error) { return f.replay.State, f.replay.Unread }

// Complete reports whether the folded journal is complete and of this engine; log is the summary of reading it. If not,
// package recovery determines the state.
func (f *Fold) Complete(log journal.Summary) bool {
	r := log.Report
	if len(f.replay.Faults) > 0 || f.foreign || f.replay.Unread != nil || f.replay.State.RunID == "" || r.Damaged() || r.Unnumbered > 0 || len(r.Stale) > 0 {
		return false
	}
	d, err := statefile.ReadOwn(f.dir)
	st := d.Scheduler
	if st == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return st.Seq <= log.Last.Seq || Equal(f.replay.State, *st)
}
