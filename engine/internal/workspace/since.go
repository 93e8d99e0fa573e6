package workspace

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of a look.
const (
	maxLooked = 50_000                 // entries of directories
	maxTime   = 500 * time.Millisecond // for all of it
)

// skipped are names of directories that are not inspected: large, reproducible directories of tools.
var skipped = []string{".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "__pycache__", ".tox", ".gradle", ".terraform"}

// ours are the files of the engine itself, relative to the project.
var ours = []string{store.RunsDir, store.LocksDir, store.CompletionsFile, store.CompletionsLock}

// Change is a path that changed.
type Change struct {
	// Path is relative to the project, with slashes. One that ends in a slash is a directory in which something was
	// removed or renamed, "./" the project itself.
	Path string
	// At is when it changed last.
	At time.Time
}

// Since returns the changes in the project at the time or later, by the clock of its file system, in the order of
// paths from the top down. partial means that the project is too large, a directory could not be read, or ctx ended.
// The author of a change is unknown. Directories of version control and of some tools, and the engine's own files are
// left out.
func Since(ctx context.Context, p *store.Project, since time.Time) (changes []Change, partial bool) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	l := look{project: p, since: since, budget: maxLooked}
	for dirs := []string{"."}; len(dirs) > 0; dirs = dirs[1:] {
		if ctx.Err() != nil || l.budget <= 0 {
			return l.changes, true
		}
		dirs = append(dirs, l.into(dirs[0])...)
	}
	return l.changes, l.blind
}

type look struct {
	project *store.Project
	since   time.Time
	budget  int // entries that may still be inspected
	changes []Change
	blind   bool // something could not be read
}

// into inspects the entries of a directory and returns its subdirectories.
func (l *look) into(dir string) (dirs []string) {
	entries, err := l.project.Entries(dir)
	if err != nil {
		l.blind = true
		return nil
	}
	l.budget -= len(entries)
	explained := false // that the directory itself changed
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil || slices.Contains(ours, name) {
			continue // removed meanwhile: its directory shows that
		}
		at := changedAt(info)
		recent := !at.Before(l.since)
		explained = explained || recent
		switch {
		case e.IsDir() && slices.Contains(skipped, e.Name()):
		case e.IsDir():
			dirs = append(dirs, name)
		case recent:
			l.changes = append(l.changes, Change{name, at})
		}
	}
	if info, err := l.project.Stat(dir); err == nil && !explained && !info.ModTime().Before(l.since) && dir != path.Dir(store.RunsDir) {
		l.changes = append(l.changes, Change{shown(dir), info.ModTime()})
	}
	return dirs
}

// shown is a directory as a path of a change.
func shown(dir string) string { return dir + "/" }
