package recovery

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// maxState bounds state.json, in bytes.
const maxState = 256 << 20

// Origin is the latest writer of a session.
type Origin int

// The constants of type Origin are the possible writers of a session.
const (
	Unknown Origin = iota // there is neither a readable event nor a state in state.json
	Bash                  // the Bash engine
	Ours                  // this engine
)

// SessionFiles are the contents of a session's directory.
type SessionFiles struct {
	Dir *store.Dir
	// Lines are the lines of the journal, readable or not.
	Lines []journal.Line
	// Document is the readable part of state.json; DocumentFault is the reason why the file is unusable, "" if it is
	// usable.
	Document      statefile.Document
	DocumentFault string
}

// LegacyVariable is the environment variable that sets [Params.Legacy] if its value is 1.
const LegacyVariable = "AGENT_PIPELINES_LEGACY"

// Params holds the inputs of a restored state.
type Params struct {
	Plan       *plan.Plan
	PlanSHA256 string // of plan.json
	// RunID is the run's id for a session whose events have none.
	RunID string
	// Providers are the providers for the names in the plan's blocks.
	Providers        map[string]event.Provider
	SchedulerVersion int
	SkipDelays       bool
	// Legacy ignores the events of the Bash engine: state.json alone counts.
	Legacy bool
}

// Result is a restored state.
type Result struct {
	State state.State
	// Complete reports whether the session has a complete journal of this engine.
	Complete bool
	// Reason says where the state comes from, for session_imported.
	Reason string
	// Lost lists unreadable data, for the user.
	Lost []string
	// Doubt is the reason why the state is a guess, "" if the state is certain. A transition or the end of an iteration
	// may have been lost.
	Doubt string
	// History holds the iterations completed so far.
	History []statefile.Iteration
}

// Read reads a session's journal and state.json. The error is a read error, or says that a newer version wrote the
// journal.
func Read(dir *store.Dir) (*SessionFiles, error) {
	f := &SessionFiles{Dir: dir}
	var err error
	if f.Lines, err = journal.ReadLines(dir); err != nil {
		return nil, err
	}
	if f.Document, err = statefile.ReadOwn(dir); err != nil {
		f.DocumentFault = err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			f.DocumentFault = "there is no state.json"
		}
	}
	return f, nil
}

// IsEmpty reports whether no run can have begun in the session's directory: it has no event, no state file and no node
// directory. A kernel killed before its first event leaves only a plan.
func (f *SessionFiles) IsEmpty() bool {
	if len(f.Lines) > 0 || f.DocumentFault == "" {
		return false
	}
	if _, err := f.Dir.Stat(store.StateFile); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := f.Dir.Entries(".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && isNodeDir(e.Name()) })
}

func isNodeDir(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return slices.Contains([]plan.Kind{plan.KindStage, plan.KindParallel, plan.KindPipeline}, plan.Kind(kind))
}

// Origin returns the latest writer of the session. If one engine resumed a session of the other engine, the last
// readable line decides.
func (f *SessionFiles) Origin() Origin {
	origin := Unknown
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
	case origin != Unknown || f.DocumentFault != "":
		return origin
	case f.Document.Scheduler != nil:
		return Ours
	case f.Document.EventSeq > 0: // this engine's file, without the state
		return Unknown
	default:
		return Bash
	}
}

func (f *SessionFiles) readable(l *journal.Line) bool {
	return l.Fault == "" && (l.Event.Session == "" || l.Event.Session == f.Dir.Session())
}
