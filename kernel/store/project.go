package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// The names of a project's files that belong to no single session.
const (
	RunsDir         = ".claude/pipeline-runs"
	LocksDir        = ".claude/locks"
	CompletionsFile = ".claude/loop-completions.json" // completed sessions, see package engine/internal/statefile
	CompletionsLock = CompletionsFile + ".lock"
)

// LockFile returns the name of a session's lock.
func LockFile(session string) string { return LocksDir + "/" + session + ".lock" }

// Project is the working directory whose .claude folder holds the sessions. It is safe for concurrent use.
type Project struct{ *Store }

// OpenProject opens the project in dir, which must exist. The caller closes it.
func OpenProject(dir string) (*Project, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open project %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	return &Project{newStore(root, abs, "project directory")}, nil
}

// Create opens the session's directory and makes it if it does not exist. The caller closes it.
func (p *Project) Create(session string) (*Dir, error) {
	if err := CheckSession(session); err != nil {
		return nil, err
	}
	name := path.Join(RunsDir, session)
	if err := p.mkdirAll(name, dirMode); err != nil {
		return nil, p.wrapError("create session "+session, err)
	}
	if err := p.SyncTree(name); err != nil {
		return nil, err
	}
	return p.Open(session)
}

// Open opens the directory of an existing session, else the error wraps [ErrNoSession]. The caller closes it.
func (p *Project) Open(session string) (*Dir, error) {
	if err := CheckSession(session); err != nil {
		return nil, err
	}
	name := path.Join(RunsDir, session)
	root, err := p.root.OpenRoot(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.NoSessionError(session)
	}
	if err != nil {
		return nil, p.wrapError("open session "+session, err)
	}
	dir := newStore(root, p.Abs(name), "session directory")
	dir.noLinks = true
	return &Dir{Store: dir, session: session, project: p.path}, nil
}

// NoSessionError returns the error for a session that does not exist; it wraps [ErrNoSession] and suggests the
// nearest name.
func (p *Project) NoSessionError(session string) error {
	return failure.New(failure.SessionState, "%w: %q in %s", ErrNoSession, session, p.Abs(RunsDir)).
		WithHint("%s`%s` shows the sessions of this directory", p.suggestion(session), failure.Next("list"))
}

// suggestion returns a hint with the session name nearest to a missing one, "" for none.
func (p *Project) suggestion(session string) string {
	dirs, err := p.Entries(RunsDir)
	if err != nil {
		return "" // the error then suggests no name
	}
	names := make([]string, 0, len(dirs))
	for _, d := range dirs {
		if d.IsDir() && CheckSession(d.Name()) == nil {
			names = append(names, d.Name())
		}
	}
	if near := nearest.Name(session, names); near != "" {
		return fmt.Sprintf("did you mean '%s'? ", near)
	}
	return ""
}

// SessionEntry is one session of a project, as read from its directory.
type SessionEntry struct {
	Session  string
	Modified time.Time // of state.json, else of the directory
}

// Sessions lists the sessions, the most recently changed first. It is empty for a project without any run.
func (p *Project) Sessions() ([]SessionEntry, error) {
	dirs, err := p.Entries(RunsDir)
	if err != nil {
		return nil, err
	}
	var found []SessionEntry
	for _, d := range dirs {
		if !d.IsDir() || CheckSession(d.Name()) != nil {
			continue
		}
		if at, ok := p.modTime(d.Name()); ok {
			found = append(found, SessionEntry{Session: d.Name(), Modified: at})
		}
	}
	slices.SortFunc(found, func(a, b SessionEntry) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.Session, b.Session))
	})
	return found, nil
}

// modTime returns the time of the session's last change; ok is false for a session that was removed meanwhile.
func (p *Project) modTime(session string) (time.Time, bool) {
	for _, name := range []string{path.Join(RunsDir, session, StateFile), path.Join(RunsDir, session)} {
		if info, err := p.Stat(name); err == nil {
			return info.ModTime(), true
		}
	}
	return time.Time{}, false
}

// StageDir returns the absolute path of the folder of the node's stage, which for a shipped stage is in the session's
// copy. It is "" if the node runs no stage.
func (p *Project) StageDir(n *plan.Node) string {
	dir := n.PromptPath
	if n.Wraps != nil {
		dir = n.Wraps.Dir + "/"
	}
	for n.Ref != "" && len(dir) > 1 {
		dir = path.Dir(dir)
		if path.Base(dir) == n.Ref {
			break
		}
	}
	switch {
	case n.Ref == "" || path.Base(dir) != n.Ref:
		return ""
	case path.IsAbs(dir):
		return filepath.FromSlash(dir)
	default:
		return p.Abs(dir)
	}
}
