package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxEnd bounds the part read from the end of state.json, in bytes. A scheduler's state is far smaller.
const maxEnd = 1 << 20

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
	st, ok := stateAtEnd(f.dir)
	return ok && (st.Seq <= log.Last.Seq || equalStates(f.replay.state, st))
}

// stateAtEnd reads the scheduler's state at the end of state.json, the zero state if there is no file. ok is false where the file
// does not end as this engine writes it.
func stateAtEnd(dir *store.Dir) (st state.State, ok bool) {
	f, err := dir.OpenRegular(store.StateFile)
	if err != nil {
		return st, errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return st, false
	}
	from := max(0, info.Size()-maxEnd)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return st, false
	}
	i := bytes.LastIndex(text, []byte("\n  \"event_seq\": ")) // of the document itself: what is inside of it is indented further
	if i < 0 {
		return st, false
	}
	var end struct {
		EventSeq int64           `json:"event_seq"`
		State    json.RawMessage `json:"scheduler"`
	}
	if json.Unmarshal(append([]byte{'{'}, text[i:]...), &end) != nil || end.State == nil {
		return st, false
	}
	st, err = state.Parse(end.State)
	return st, err == nil && st.Session == dir.Session() && st.Seq == end.EventSeq && st.RunID != ""
}
