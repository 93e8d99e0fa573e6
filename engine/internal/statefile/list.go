package statefile

import (
	"errors"
	"io/fs"
	"path"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Head is a line of a list of sessions: the beginning of a state.json.
type Head struct {
	store.SessionEntry
	Status    state.Status // "" if it is not known
	Stage     string       // the id of the stage the session is at, "" for loops
	Run, Runs int          // of the whole pipeline, 0 where it runs once
	Waiting   []string     // ids of the unanswered questions
	// Err is why the file could not be read; nil for a session that has none yet.
	Err error
}

// Heads lists the project's sessions, the most recently changed first, from the heads of their
// state.json: however long a history is, it is not read.
func Heads(p *store.Project) ([]Head, error) {
	entries, err := p.Sessions()
	if err != nil {
		return nil, err
	}
	heads := make([]Head, len(entries))
	for i, e := range entries {
		heads[i] = newHead(p, e)
	}
	return heads, nil
}

func newHead(p *store.Project, e store.SessionEntry) Head {
	d, err := readFrom(p.Store, path.Join(store.RunsDir, e.Session, store.StateFile), "history")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	h := Head{SessionEntry: e, Status: state.Status(d.Status), Run: d.Run, Runs: d.Runs, Waiting: d.Waiting, Err: err}
	for _, s := range d.Stages {
		if s.Index == d.CurrentStage {
			h.Stage = s.Name
		}
	}
	return h
}
