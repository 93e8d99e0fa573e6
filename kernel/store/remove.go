package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// removedPrefix begins the names of session directories during their removal. No session can have such a name.
const removedPrefix = ".removed-"

// RemoveSession removes a session's directory with its content. The session disappears in one step. If a crash
// interrupts the removal, the next removal deletes the rest. Symbolic links are removed and never followed; a session
// that is a link is refused. The error wraps [ErrNoSession] if there is no such session. Only the holder of the
// session's lock may call it.
func (p *Project) RemoveSession(session string) error {
	if err := CheckSession(session); err != nil {
		return err
	}
	name := path.Join(RunsDir, session)
	info, err := p.root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.SessionState, "%w: %q in %s", ErrNoSession, session, p.Abs(RunsDir))
	case err != nil:
		return p.wrapError("remove session "+session, err)
	case !info.IsDir():
		return failure.New(failure.SessionState, "%s is a link or a file, not a directory", p.Abs(name)).
			WithHint("no session is kept there; remove it by hand if nothing needs it")
	}
	removed := path.Join(RunsDir, removedPrefix+rand.Text())
	if err := p.root.Rename(filepath.FromSlash(name), filepath.FromSlash(removed)); err != nil {
		return p.wrapError("remove session "+session, err)
	}
	failpoint.Point("rundir.remove-session.renamed")
	if err := p.syncDir(RunsDir); err != nil {
		return p.wrapError("remove session "+session, err)
	}
	return p.sweepRemoved()
}

// sweepRemoved deletes the directories set aside for removal, by this process or by a process that crashed.
func (p *Project) sweepRemoved() error {
	entries, err := p.Entries(RunsDir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), removedPrefix) {
			continue
		}
		if err := p.root.RemoveAll(filepath.FromSlash(path.Join(RunsDir, e.Name()))); err != nil {
			errs = append(errs, fmt.Errorf("remove the rest of a session: %w", p.absError(err)))
		}
		failpoint.Point("rundir.remove-session.removed")
	}
	return errors.Join(errs...)
}
