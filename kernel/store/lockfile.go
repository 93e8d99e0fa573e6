package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
)

const (
	// holderWait is how long a locked file may name no living process. Whoever has just locked it
	// writes its name within microseconds, whoever only looks lets go of it.
	holderWait = time.Second
	// acquireWait is patience of who wants the file: on a machine with too much to do, one that only looks may not get on
	// for long, and a run that is refused for that would not begin.
	acquireWait = 5 * time.Second
	// lockPause is the pause between two looks at such a file.
	lockPause = 5 * time.Millisecond
	// guardWait is how long a lock's removal may wait for another one.
	guardWait = 5 * time.Second
)

// errLockChanging says that a lock was still changing hands when patience ended.
var errLockChanging = errors.New("it is replaced again and again")

// lockFile is a lock file that was opened, and what is known about it.
type lockFile struct {
	file    *os.File
	name    string   // in the project
	locked  bool     // by us: nobody else holds the file
	info    LockInfo // what the file says
	written bool     // whether it says anything
}

// openLock opens a session's lock file and locks it, unless a living process holds it. It waits for
// files that are just changing hands, until ctx ends. The error wraps [fs.ErrNotExist] if there is no
// file and flag does not create one.
func openLock(ctx context.Context, p *Project, session string, flag int) (*lockFile, error) {
	for {
		g, err := openLockFile(p, session, flag)
		if err != nil {
			return nil, err
		}
		settled, err := g.findHolder(ctx, p)
		if err == nil && !settled && ctx.Err() != nil {
			err = fmt.Errorf("lock %s: %w", p.Abs(g.name), errLockChanging)
		}
		if err == nil && settled {
			return g, nil
		}
		_ = g.file.Close()
		if err != nil {
			return nil, err
		}
	}
}

// openLockFile opens the file without waiting for anybody: a pipe in its place would.
func openLockFile(p *Project, session string, flag int) (*lockFile, error) {
	name := LockFile(session)
	f, err := p.OpenFile(name, flag|syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", p.Abs(name), err)
	}
	return &lockFile{file: f, name: name}, nil
}

// findHolder finds out who has the file: it is false if the file has to be opened again. A living process
// that the file names is believed without the flock, which the Bash engine cannot take everywhere.
func (g *lockFile) findHolder(ctx context.Context, p *Project) (bool, error) {
	if err := g.read(); err != nil {
		return false, err
	}
	if g.info.isAlive() && g.info.PID != os.Getpid() {
		return true, nil
	}
	err := TryFlock(g.file)
	if errors.Is(err, ErrFlocked) {
		if g.info.isAlive() { // this process holds it already
			return true, nil
		}
		brief, cancel := context.WithTimeout(ctx, lockPause)
		err = Flock(brief, g.file)
		cancel()
	}
	if errors.Is(err, ErrFlocked) {
		return ctx.Err() != nil, nil
	}
	if err != nil {
		return false, err
	}
	g.locked = true
	current, err := g.isCurrent(p)
	if err != nil || !current {
		return false, err
	}
	return true, g.read() // it may have been written before it was let go
}

// isHeld reports whether somebody has the session. A living process that is us was once us, or another
// process with our number: the flock would say otherwise.
func (g *lockFile) isHeld() bool {
	return !g.locked || g.info.isAlive() && g.info.PID != os.Getpid()
}

func (g *lockFile) read() error {
	text, err := io.ReadAll(io.NewSectionReader(g.file, 0, maxLockFile))
	if err != nil {
		return fmt.Errorf("read lock: %w", err)
	}
	g.info, g.written = parseLock(text)
	return nil
}

// write replaces what the file says. The new text is there in one piece before the rest of an older,
// longer one goes.
func (g *lockFile) write(info LockInfo) error {
	text, err := info.render()
	if err != nil {
		return err
	}
	failpoint.BeforeWrite(g.file.Name())
	if _, err := g.file.WriteAt(text, 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	failpoint.Point("lock.acquire.written")
	if err := g.file.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	g.info, g.written = info, true
	return nil
}

// isCurrent reports whether the path still leads to the open file.
func (g *lockFile) isCurrent(p *Project) (bool, error) {
	there, err := p.Stat(g.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ours, err := g.file.Stat()
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", p.Abs(g.name), err)
	}
	return os.SameFile(ours, there), nil
}

// remove removes the file if the path still leads to it. Nobody else of this room removes one in
// between.
func (g *lockFile) remove(p *Project) (removed bool, err error) {
	current, err := g.isCurrent(p)
	if err != nil || !current {
		return false, err // also when the whole directory is gone
	}
	unguard, err := guardLocks(p)
	if err != nil {
		return false, err
	}
	defer unguard()
	if current, err = g.isCurrent(p); err != nil || !current {
		return false, err
	}
	if err := p.Remove(g.name); err != nil {
		return false, err
	}
	return true, nil
}

// guardLocks locks the directory of the locks, so that looking at a path and removing it are one act. A file
// system that cannot lock directories (NFS) leaves a moment in which one --force removes the lock of
// another; the journal then lets only the later one write.
func guardLocks(p *Project) (unguard func(), err error) {
	dir, err := p.OpenFile(LocksDir, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), guardWait)
	defer cancel()
	if err := Flock(ctx, dir); errors.Is(err, ErrFlocked) {
		_ = dir.Close()
		return nil, err
	}
	return func() { _ = dir.Close() }, nil
}
