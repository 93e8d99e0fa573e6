package statefile

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Head is a line of a list of sessions: what the beginning of state.json says.
type Head struct {
	Session            string
	Modified           time.Time
	Type               string       // loop or pipeline, "" if it is not known
	Status             state.Status // "" if it is not known
	StartedAt          string
	Stage              string // the id of the stage the session is at, "" for loops
	CurrentStage       int
	Iteration          int
	IterationCompleted int
	Run, Runs          int      // of the whole pipeline, 0 where it runs once
	Waiting            []string // ids of the unanswered questions
	// Err is why the file could not be read; nil for a session that has none yet.
	Err error
}

// Heads lists the project's sessions, the most recently changed first, from the heads of their
// state.json: however long a history is, it is not read. limit is the most to return, 0 for all; keep
// chooses by head, nil keeps all.
func Heads(p *store.Project, limit int, keep func(Head) bool) ([]Head, error) {
	entries, err := p.Sessions()
	if err != nil {
		return nil, err
	}
	var heads []Head
	for _, e := range entries {
		h := newHead(p, e)
		if keep != nil && !keep(h) {
			continue
		}
		heads = append(heads, h)
		if len(heads) == limit {
			break
		}
	}
	return heads, nil
}

func newHead(p *store.Project, e store.SessionEntry) Head {
	d, err := readFrom(p.Store, path.Join(store.RunsDir, e.Session, store.StateFile), "history")
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	h := Head{
		Session: e.Session, Modified: e.Modified, Type: d.Type, Status: state.Status(d.Status), StartedAt: d.StartedAt,
		CurrentStage: d.CurrentStage, Iteration: d.Iteration, IterationCompleted: d.IterationCompleted,
		Run: d.Run, Runs: d.Runs, Waiting: d.Waiting, Err: err,
	}
	for _, s := range d.Stages {
		if s.Index == d.CurrentStage {
			h.Stage = s.Name
		}
	}
	return h
}
