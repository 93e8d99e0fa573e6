package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

// newLockedProject returns a project with a lock of session s that names a dead process.
func newLockedProject(t *testing.T) (p *Project, file string) {
	t.Helper()
	p = must(OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	file = p.Abs(LockFile("s"))
	check(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(`{"session":"s","pid":999999999}`), 0o600)))
	return p, file
}

// A wrong file type at a lock's name, or at the directory of the locks, is an error and stays.
func TestObstacles(t *testing.T) {
	t.Run("pipe", func(t *testing.T) {
		p, file := newLockedProject(t)
		check(t, errors.Join(os.Remove(file), unix.Mkfifo(file, 0o600)))
		if dead, err := isDeadLock(p, "s"); dead || err == nil {
			t.Errorf("%t, %v", dead, err)
		}
		if pid, err := sweepLock(p, "s"); pid != 0 || err == nil {
			t.Errorf("swept %d, %v", pid, err)
		}
	})
	t.Run("file in the place of the directory", func(t *testing.T) {
		p, file := newLockedProject(t)
		l := must(AcquireLock(p, "s", LockOptions{}))
		check(t, errors.Join(os.RemoveAll(filepath.Dir(file)), os.WriteFile(filepath.Dir(file), nil, 0o600)))
		if swept, err := SweepLocks(p, nil); len(swept) > 0 || err == nil {
			t.Errorf("swept %v, %v", swept, err)
		}
		if err := l.Release(); err == nil {
			t.Error("the lock that cannot be found is said to be released")
		}
		if err := l.Release(); err != nil {
			t.Errorf("released again: %v", err)
		}
	})
}

// A lock on the directory of the locks blocks removals, for a bounded time.
func TestGuard(t *testing.T) {
	p, _ := newLockedProject(t)
	dir := must(os.Open(p.Abs(LocksDir)))
	defer dir.Close()
	check(t, TryFlock(dir))
	synctest.Test(t, func(t *testing.T) { // which takes no time
		if _, err := guardLocks(p); !errors.Is(err, ErrFlocked) {
			t.Errorf("guarded by two: %v", err)
		}
	})
}

// AwaitPreviousHolder returns at once without an overridden lock, and can be cancelled.
func TestAwaitOverridden(t *testing.T) {
	p, file := newLockedProject(t)
	l := must(AcquireLock(p, "s", LockOptions{}))
	defer func() { _ = l.Release() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.AwaitPreviousHolder(ctx); err != nil {
		t.Errorf("without an owner: %v", err)
	}
	held := must(os.Open(file))
	l.overridden = held // a file that l holds
	if err := l.AwaitPreviousHolder(ctx); err == nil {
		t.Error("the wait does not end")
	}
}
