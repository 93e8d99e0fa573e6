package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestStartTime(t *testing.T) {
	one, known := processStart(os.Getpid())
	again, _ := processStart(os.Getpid())
	if !known || one == "" || one != again {
		t.Errorf("of this process: %q, then %q", one, again)
	}
	if parent, _ := processStart(os.Getppid()); parent == one {
		t.Errorf("the parent started at the same time: %q", parent)
	}
	if got, known := processStart(999999999); known || got != "" {
		t.Errorf("of no process: %q", got)
	}
}

// FuzzParse checks that a rendered lock reads as the same lock.
func FuzzParse(f *testing.F) {
	f.Add(`{"session":"s","pid":412,"started_at":"2026-03-01T12:00:00Z"}`)
	f.Add(`{"session":"s","pid":412,"started_at":"yesterday","start_time":"b/7","host":"h","marker":"m@1.2"}`)
	f.Add(`{"pid":-1}`)
	f.Add(`{"pid":1e3,"host":[]}`)
	f.Add("[]")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, text string) {
		info, ok := parseLock([]byte(text))
		if !ok {
			if info != (LockInfo{}) {
				t.Errorf("unreadable, yet %+v", info)
			}
			return
		}
		if info.PID <= 0 {
			t.Fatalf("pid %d", info.PID)
		}
		again := must(info.render())
		back, ok := parseLock(again)
		if diff := cmp.Diff(info, back); diff != "" || !ok {
			t.Errorf("%t %s", ok, diff)
		}
	})
}

// A sweep locks only files that name a dead process: a process that makes a file is about to lock it, and
// would be refused.
func TestLooksDead(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"just made":   {"", false},
		"no lock":     {"not json", false},
		"alive":       {fmt.Sprintf(`{"session":"s","pid":%d}`, os.Getppid()), false},
		"dead":        {`{"session":"s","pid":999999999}`, true},
		"our number":  {fmt.Sprintf(`{"session":"s","pid":%d}`, os.Getpid()), true}, // may be of an earlier process; the flock decides
		"number over": {fmt.Sprintf(`{"session":"s","pid":%d,"start_time":"x/1"}`, os.Getppid()), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(OpenProject(t.TempDir()))
			defer p.Close()
			if dead, err := isDeadLock(p, "s"); dead || err != nil {
				t.Errorf("no file: %t, %v", dead, err)
			}
			file := p.Abs(LockFile("s"))
			check(t, os.MkdirAll(filepath.Dir(file), 0o755))
			check(t, os.WriteFile(file, []byte(tt.text), 0o600))
			if dead, err := isDeadLock(p, "s"); dead != tt.want || err != nil {
				t.Errorf("%t, %v", dead, err)
			}
		})
	}
}

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
func TestWrongFileTypes(t *testing.T) {
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
		check(t, l.Release())
	})
}

// A lock on the directory of the locks blocks removals, for a bounded time.
func TestGuard(t *testing.T) {
	p, _ := newLockedProject(t)
	dir := must(os.Open(p.Abs(LocksDir)))
	defer dir.Close()
	check(t, TryFlock(dir))
	synctest.Test(t, func(t *testing.T) { // the wait takes no real time
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
	check(t, l.AwaitPreviousHolder(ctx))
	held := must(os.Open(file))
	l.overridden = held // a file that l holds
	if err := l.AwaitPreviousHolder(ctx); err == nil {
		t.Error("the wait does not end")
	}
}
