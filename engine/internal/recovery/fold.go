package recovery

import (
	"errors"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Fold folds a journal while it is read and reports whether the journal is complete. A complete journal does not need
// [Read], which keeps every line.
type Fold struct {
	dir    *store.Dir
	replay replay
	// foreign reports whether an event is of another session.
	foreign bool
}

// NewFold returns a fold of a session's journal before its first event.
func NewFold(dir *store.Dir, p *plan.Plan) *Fold { return &Fold{dir: dir, replay: replay{plan: p}} }

// Apply applies the next event. Invalid transitions are skipped.
func (f *Fold) Apply(e event.Event) {
	f.foreign = f.foreign || e.Session != "" && e.Session != f.dir.Session()
	if begins(e) { // faults of earlier runs do not matter
		f.replay.faults = nil
	}
	f.replay.apply(step{event: e})
	f.replay.faults = f.replay.faults[:min(len(f.replay.faults), 1)]
}

// State returns the state after the applied events. The error is that of the first event that could not be read.
func (f *Fold) State() (state.State, error) { return f.replay.state, f.replay.unread }

// Complete reports whether the folded journal is complete and of this engine; log is the summary of reading it. If so,
// the result of [SessionFiles.Restore] is complete, too; if not, only Restore decides.
func (f *Fold) Complete(log journal.Summary) bool {
	r := log.Report
	if len(f.replay.faults) > 0 || f.foreign || f.replay.unread != nil || f.replay.state.RunID == "" || r.Damaged() || r.Unnumbered > 0 || len(r.Stale) > 0 {
		return false
	}
	d, err := readDocument(f.dir)
	st := d.Scheduler
	if st == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return st.Seq <= log.Last.Seq || equalStates(f.replay.state, *st)
}
