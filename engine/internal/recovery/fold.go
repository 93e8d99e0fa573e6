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

// Fold folds a journal while it is read and finds out whether that is enough. Where it is, [Read], which keeps every line,
// is not needed.
type Fold struct {
	dir    *store.Dir
	replay replay
	// foreign: an event is of another session.
	foreign bool
}

// NewFold returns the fold of the empty journal of a session that follows a plan.
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

// State is the state after the events taken. The error says of the first of them that could not be read why.
func (f *Fold) State() (state.State, error) { return f.replay.state, f.replay.unread }

// Complete reports whether the folded journal is a complete one of this engine; log is the summary of reading it.
// [SessionFiles.Restore] agrees with true, and is the authority for false.
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
