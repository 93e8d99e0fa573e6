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
	// holderWait is how long a locked file may name no living process. A new holder writes its PID within
	// microseconds; readers release the file at once.
	holderWait = time.Second
	// acquireWait is holderWait for a process that wants the file. On an overloaded machine a reader may hold
	// the file longer, and refusing the run would be wrong.
	acquireWait = 5 * time.Second
	// lockPause limits the wait for the flock of a file, before its content is read again.
	lockPause = 5 * time.Millisecond
	// guardWait limits how long a lock's removal waits for another removal.
	guardWait = 5 * time.Second
)

// errLockChanging says that other processes were still replacing a lock when the time was over.
var errLockChanging = errors.New("the file was replaced again and again")

// lockFile is an open lock file and its content.
type lockFile struct {
	file    *os.File
	name    string   // relative to the project
	locked  bool     // by this process: no other process holds the file
	info    LockInfo // the content of the file
	written bool     // whether info is valid
}

// openLock opens a session's lock file and locks it, unless a living process holds it. It waits until ctx ends for
// files that other processes are replacing. The error wraps [fs.ErrNotExist] if there is no file and flag does not
// create one.
func openLock(ctx context.Context, p *Project, session string, flag int) (*lockFile, error) {
	for {
		f, err := openLockFile(p, session, flag)
		if err != nil {
			return nil, err
		}
		found, err := f.findHolder(ctx, p)
		if err == nil && !found && ctx.Err() != nil {
			err = fmt.Errorf("lock %s: %w", p.Abs(f.name), errLockChanging)
		}
		if err == nil && found {
			return f, nil
		}
		_ = f.file.Close()
		if err != nil {
			return nil, err
		}
	}
}

// openLockFile opens the file without blocking, even if it is a pipe.
func openLockFile(p *Project, session string, flag int) (*lockFile, error) {
	name := LockFile(session)
	f, err := p.OpenFile(name, flag|syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", p.Abs(name), err)
	}
	return &lockFile{file: f, name: name}, nil
}

// findHolder determines the holder of the file; false means that the file must be opened again. A living
// process named in the file counts without the flock, which the Bash engine cannot take everywhere.
func (f *lockFile) findHolder(ctx context.Context, p *Project) (bool, error) {
	if err := f.read(); err != nil {
		return false, err
	}
	if f.info.isAlive() && f.info.PID != os.Getpid() {
		return true, nil
	}
	err := TryFlock(f.file)
	if errors.Is(err, ErrFlocked) {
		if f.info.isAlive() { // this process already holds it
			return true, nil
		}
		brief, cancel := context.WithTimeout(ctx, lockPause)
		err = Flock(brief, f.file)
		cancel()
	}
	if errors.Is(err, ErrFlocked) {
		return ctx.Err() != nil, nil
	}
	if err != nil {
		return false, err
	}
	f.locked = true
	current, err := f.isCurrent(p)
	if err != nil || !current {
		return false, err
	}
	return true, f.read() // the file may have been written before its holder released it
}

// isHeld reports whether another process, or another lock of this process, holds the session. A recorded process with
// this PID is not this process: otherwise the flock would have failed.
func (f *lockFile) isHeld() bool {
	return !f.locked || f.info.isAlive() && f.info.PID != os.Getpid()
}

func (f *lockFile) read() error {
	text, err := io.ReadAll(io.NewSectionReader(f.file, 0, maxLockFile))
	if err != nil {
		return fmt.Errorf("read lock: %w", err)
	}
	f.info, f.written = parseLock(text)
	return nil
}

// write replaces the content of the file. The new text is complete before the rest of a longer old text is
// cut.
func (f *lockFile) write(info LockInfo) error {
	text, err := info.render()
	if err != nil {
		return err
	}
	failpoint.BeforeWrite(f.file.Name())
	if _, err := f.file.WriteAt(text, 0); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	failpoint.Point("lock.acquire.written")
	if err := f.file.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	f.info, f.written = info, true
	return nil
}

// isCurrent reports whether the path still leads to the open file.
func (f *lockFile) isCurrent(p *Project) (bool, error) {
	current, err := p.Stat(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ours, err := f.file.Stat()
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", p.Abs(f.name), err)
	}
	return os.SameFile(ours, current), nil
}

// remove removes the file if the path still leads to it. The guard excludes other removals in between.
func (f *lockFile) remove(p *Project) (removed bool, err error) {
	current, err := f.isCurrent(p)
	if err != nil || !current {
		return false, err // also when the whole directory is gone
	}
	unguard, err := guardLocks(p)
	if err != nil {
		return false, err
	}
	defer unguard()
	if current, err = f.isCurrent(p); err != nil || !current {
		return false, err
	}
	if err := p.Remove(f.name); err != nil {
		return false, err
	}
	return true, nil
}

// guardLocks locks the directory of the locks, so that checking a path and removing it are one step. On a file system
// that cannot lock directories (NFS), a process that overrides a lock may remove the lock of another such process. The journal
// then accepts only the later writer.
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
