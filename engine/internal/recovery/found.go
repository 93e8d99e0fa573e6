package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxState bounds what is read of state.json, in bytes.
const maxState = 256 << 20

// Origin is who wrote a session last.
type Origin int

// The origins.
const (
	Nobody Origin = iota // there is neither a readable event nor a readable state.json
	Bash                 // the Bash engine
	Ours                 // this engine
)

// SessionFiles are the contents of a session's directory.
type SessionFiles struct {
	Dir *store.Dir
	// Lines are those of the journal, readable or not.
	Lines []journal.Line
	// Document is state.json as far as it can be read; DocumentFault is why it tells nothing, "" if it
	// does.
	Document      statefile.Document
	DocumentFault string

	// scheduler is the state in state.json, nil if there is none or it is not whole.
	scheduler *state.State
}

// Base is what a state is made for.
type Base struct {
	Plan       *plan.Plan
	PlanSHA256 string // of plan.json
	// RunID is for a session that has no run yet.
	RunID string
	// Providers are what the names in the plan's blocks stand for.
	Providers        map[string]event.Provider
	SchedulerVersion int
	SkipDelays       bool
	// Legacy leaves the events of the Bash engine out: state.json alone counts
	// (AGENT_PIPELINES_LEGACY=1).
	Legacy bool
}

// Result is a state that was made.
type Result struct {
	State state.State
	// Whole: the journal of this engine lacks nothing.
	Whole bool
	// Reason says where the state comes from, for session_imported.
	Reason string
	// Lost are the things that could not be read, for people.
	Lost []string
	// Doubt is why the state is a guess, "" if it is sure: a transition, or the end of an iteration, may
	// have been lost.
	Doubt string
	// History are the iterations completed so far.
	History []statefile.Iteration
}

// Read reads a session's journal and state.json. The error is the disk's, or says that a newer version
// wrote the journal.
func Read(dir *store.Dir) (*SessionFiles, error) {
	f := &SessionFiles{Dir: dir}
	var err error
	if f.Lines, err = journal.ReadLines(dir); err != nil {
		return nil, err
	}
	if err := f.readDocument(); err != nil {
		f.Document, f.DocumentFault = statefile.Document{}, err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			f.DocumentFault = "there is no state.json"
		}
	}
	return f, nil
}

// readDocument reads state.json twice: leniently for what the Bash engine wrote, strictly for the
// scheduler's state, of which half would be worse than nothing.
func (f *SessionFiles) readDocument() error {
	text, err := f.Dir.Read(store.StateFile, maxState)
	if err != nil {
		return err
	}
	var strict struct {
		Session  string          `json:"session"`
		EventSeq int64           `json:"event_seq"`
		State    json.RawMessage `json:"scheduler"`
	}
	if err := json.Unmarshal(text, &strict); err != nil {
		return fmt.Errorf("state.json cannot be read: %w", err)
	}
	if strict.Session != f.Dir.Session() {
		return fmt.Errorf("state.json belongs to session %q", strict.Session)
	}
	if f.Document, err = statefile.Read(f.Dir); err != nil {
		return err
	}
	if strict.State == nil {
		return nil
	}
	st, err := state.Parse(strict.State)
	if err != nil {
		return fmt.Errorf("the scheduler's state in state.json cannot be read: %w", err)
	}
	if st.Session == strict.Session && st.Seq == strict.EventSeq && st.RunID != "" {
		f.scheduler = &st
	}
	return nil
}

// Origin is who wrote the session last. An engine that took over another's session wrote the last lines.
func (f *SessionFiles) Origin() Origin {
	origin := Nobody
	for i := range f.Lines {
		switch l := &f.Lines[i]; {
		case !f.readable(l):
		case l.Event.Seq > 0:
			origin = Ours
		default:
			origin = Bash
		}
	}
	switch {
	case origin != Nobody || f.DocumentFault != "":
		return origin
	case f.scheduler != nil:
		return Ours
	default:
		return Bash
	}
}

func (f *SessionFiles) readable(l *journal.Line) bool {
	return l.Fault == "" && (l.Event.Session == "" || l.Event.Session == f.Dir.Session())
}

// Restore makes the state. The error says why nothing can be made of what is there.
func (f *SessionFiles) Restore(b Base) (Result, error) {
	switch f.Origin() {
	case Ours:
		return f.own(b)
	case Bash:
		return f.ofBash(b)
	default:
		return Result{}, errNothing
	}
}

var errNothing = errors.New("neither events.jsonl nor state.json tells anything about the session")
