package lock

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
	"github.com/dodo-digital/agent-pipelines/kernel/filelock"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

const (
	// patience is how long a locked file may name no living process. Whoever has just locked it
	// writes its name within microseconds, whoever only looks lets go of it.
	patience = time.Second
	// persistence is patience of who wants the file: on a machine with too much to do, one that only looks may not get on
	// for long, and a run that is refused for that would not begin.
	persistence = 5 * time.Second
	// glance is the pause between two looks at such a file.
	glance = 5 * time.Millisecond
	// guardTime is how long a lock's removal may wait for another one.
	guardTime = 5 * time.Second
)

// errUnsettled says that a lock was still changing hands when patience ended.
var errUnsettled = errors.New("it is replaced again and again")

// grip is a lock file that was opened, and what is known about it.
type grip struct {
	file    *os.File
	name    string // in the project
	locked  bool   // by us: nobody else holds the file
	info    Info   // what the file says
	written bool   // whether it says anything
}

// seize opens a session's lock file and locks it, unless a living process holds it. It waits for
// files that are just changing hands, until ctx ends. The error wraps [fs.ErrNotExist] if there is no
// file and flag does not create one.
func seize(ctx context.Context, p *store.Project, session string, flag int) (*grip, error) {
	for {
		g, err := open(p, session, flag)
		if err != nil {
			return nil, err
		}
		settled, err := g.settle(ctx, p)
		if err == nil && !settled && ctx.Err() != nil {
			err = fmt.Errorf("lock %s: %w", p.Abs(g.name), errUnsettled)
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

// open opens the file without waiting for anybody: a pipe in its place would.
func open(p *store.Project, session string, flag int) (*grip, error) {
	name := store.LockFile(session)
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
	return &grip{file: f, name: name}, nil
}

// settle finds out who has the file: it is false if the file has to be opened again. A living process
// that the file names is believed without the flock, which the Bash engine cannot take everywhere.
func (g *grip) settle(ctx context.Context, p *store.Project) (bool, error) {
	if err := g.read(); err != nil {
		return false, err
	}
	if g.info.alive() && g.info.PID != os.Getpid() {
		return true, nil
	}
	err := filelock.Try(g.file)
	if errors.Is(err, filelock.ErrHeld) {
		if g.info.alive() { // this process holds it already
			return true, nil
		}
		brief, cancel := context.WithTimeout(ctx, glance)
		err = filelock.Acquire(brief, g.file)
		cancel()
	}
	if errors.Is(err, filelock.ErrHeld) {
		return ctx.Err() != nil, nil
	}
	if err != nil {
		return false, err
	}
	g.locked = true
	current, err := g.current(p)
	if err != nil || !current {
		return false, err
	}
	return true, g.read() // it may have been written before it was let go
}

// held reports whether somebody has the session. A living process that is us was once us, or another
// process with our number: the flock would say otherwise.
func (g *grip) held() bool {
	return !g.locked || g.info.alive() && g.info.PID != os.Getpid()
}

func (g *grip) read() error {
	text, err := io.ReadAll(io.NewSectionReader(g.file, 0, maxFile))
	if err != nil {
		return fmt.Errorf("read lock: %w", err)
	}
	g.info, g.written = parse(text)
	return nil
}

// write replaces what the file says. The new text is there in one piece before the rest of an older,
// longer one goes.
func (g *grip) write(info Info) error {
	text, err := info.render()
	if err != nil {
		return err
	}
	failpoint.Writing(g.file.Name())
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

// current reports whether the path still leads to the open file.
func (g *grip) current(p *store.Project) (bool, error) {
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
func (g *grip) remove(p *store.Project) (removed bool, err error) {
	current, err := g.current(p)
	if err != nil || !current {
		return false, err // also when the whole directory is gone
	}
	unguard, err := guard(p)
	if err != nil {
		return false, err
	}
	defer unguard()
	if current, err = g.current(p); err != nil || !current {
		return false, err
	}
	if err := p.Remove(g.name); err != nil {
		return false, err
	}
	return true, nil
}

// guard locks the directory of the locks, so that looking at a path and removing it are one act. A file
// system that cannot lock directories (NFS) leaves a moment in which one --force removes the lock of
// another; the journal then lets only the later one write.
func guard(p *store.Project) (unguard func(), err error) {
	dir, err := p.OpenFile(store.LocksDir, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), guardTime)
	defer cancel()
	if err := filelock.Acquire(ctx, dir); errors.Is(err, filelock.ErrHeld) {
		_ = dir.Close()
		return nil, err
	}
	return func() { _ = dir.Close() }, nil
}
