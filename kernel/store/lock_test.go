package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// noPID is above every limit of process numbers.
const noPID = 999999999

// checkRefused checks that a session is refused with the message.
func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	require(t, failure.KindOf(err) == failure.LockContention && err.Error() == want && strings.Contains(failure.From(err).Hint, failure.Option("force")+" overrides"), err)
}

func TestLockFile(t *testing.T) {
	p := project(t)
	l := acquire(t, p, store.LockOptions{Marker: "auth/r1"})
	_, stale := l.StaleLock()
	require(t, !stale && l.Warning() == "", stale, l.Warning())
	text := must(p.Read(store.LockFile("s"), 1000))
	bash := fmt.Sprintf("{\n  \"session\": \"s\",\n  \"pid\": %d,\n  \"started_at\": %q", os.Getpid(), l.Info().StartedAt.Format("2006-01-02T15:04:05Z"))
	require(t, strings.HasPrefix(string(text), bash) && strings.HasSuffix(string(text), "\n}\n"), string(text))
	var got store.LockInfo
	check(t, json.Unmarshal(text, &got))
	compare(t, l.Info(), got)
	host := must(os.Hostname())
	got.StartTime, got.StartedAt = "", time.Time{}
	compare(t, store.LockInfo{Session: "s", PID: os.Getpid(), Host: host, Marker: "auth/r1"}, got)
}

func TestRelease(t *testing.T) {
	p := project(t)
	l := acquire(t, p, store.LockOptions{})
	for range 2 {
		check(t, l.Release())
	}
	compare(t, nil, locks(t, p))
	acquire(t, p, store.LockOptions{})
	check(t, l.Release())
	holderIs(t, p, os.Getpid())
}

// A removed directory does not make the release fail.
func TestReleaseWithoutFile(t *testing.T) {
	for _, name := range []string{store.LockFile("s"), store.LocksDir, ".claude", "."} {
		p := project(t)
		l := acquire(t, p, store.LockOptions{})
		check(t, os.RemoveAll(p.Abs(name)))
		if err := l.Release(); err != nil {
			t.Errorf("%s removed: %v", name, err)
		}
	}
}

func TestRunningSessionIsRefused(t *testing.T) {
	p := project(t)
	c := newChild(t, p).hold()
	_, err := store.AcquireLock(p, "s", store.LockOptions{})
	checkRefused(t, err, fmt.Sprintf(`session 's' is already running (PID %d)`, c.pid()))
	info, held, err := store.LockHolder(p, "s")
	require(t, err == nil && held && info.PID == c.pid() && info.Marker == "m" && info.Session == "s", info, held, err)
	c.end()
	holderIs(t, p, 0)
	acquire(t, p, store.LockOptions{})
}

func TestSameProcessIsRefused(t *testing.T) {
	p := project(t)
	acquire(t, p, store.LockOptions{})
	_, err := store.AcquireLock(p, "s", store.LockOptions{})
	checkRefused(t, err, fmt.Sprintf(`session 's' is already running (PID %d)`, os.Getpid()))
	holderIs(t, p, os.Getpid())

	other := must(store.AcquireLock(p, "other", store.LockOptions{}))
	check(t, other.Release())
}

func TestNoSessionName(t *testing.T) {
	p := project(t)
	_, err := store.AcquireLock(p, "a/b", store.LockOptions{})
	require(t, errors.Is(err, store.ErrSessionName), err)
	_, _, err = store.LockHolder(p, "../x")
	require(t, errors.Is(err, store.ErrSessionName), err)
}

func TestKilledHolder(t *testing.T) {
	p := project(t)
	c := newChild(t, p).hold()
	c.kill()
	holderIs(t, p, 0)
	swept, stale := acquire(t, p, store.LockOptions{}).StaleLock()
	compare(t, store.StaleLock{Session: "s", PID: c.pid()}, swept)
	require(t, stale, stale)
}

func TestForce(t *testing.T) {
	p := project(t)
	older := newChild(t, p).hold()
	newer := acquire(t, p, store.LockOptions{Force: true})
	want := fmt.Sprintf(`overriding existing lock for session "s" (PID %d)`, older.pid())
	_, stale := newer.StaleLock()
	require(t, !stale && newer.Warning() == want, stale, newer.Warning())
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newer.AwaitPreviousHolder(done); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a holder that lives: %v", err)
	}
	older.end() // its release does not free our lock
	check(t, newer.AwaitPreviousHolder(t.Context()))
	holderIs(t, p, os.Getpid())
	_, err := store.AcquireLock(p, "s", store.LockOptions{})
	checkRefused(t, err, fmt.Sprintf(`session 's' is already running (PID %d)`, os.Getpid()))
	compare(t, []string{"s.lock"}, locks(t, p))
}

// The content decides about unlocked lock files, such as those of other programs.
func TestForeignLocks(t *testing.T) {
	p := project(t)
	live := newChild(t, p)
	start := acquire(t, p, store.LockOptions{}).Info().StartTime
	host := must(os.Hostname())
	ours := fmt.Sprintf(`{"session":"s","pid":%d,"start_time":%q}`, os.Getpid(), start)
	tests := map[string]struct {
		text    string
		force   bool
		refused bool
		stale   int // the dead process
		warning string
	}{
		"dead process":         {text: `{"session":"s","pid":999999999}`, stale: noPID},
		"dead process, forced": {text: `{"session":"s","pid":999999999}`, force: true, stale: noPID},
		"live process":         {text: fmt.Sprintf(`{"session":"s","pid":%d,"started_at":"2026-01-01T00:00:00Z"}`, live.pid()), refused: true},
		"live process, forced": {
			text: fmt.Sprintf(`{"session":"s","pid":%d}`, live.pid()), force: true,
			warning: fmt.Sprintf(`overriding existing lock for session "s" (PID %d)`, live.pid()),
		},
		"stranger's process":       {text: `{"session":"s","pid":1}`, refused: true},
		"number given again":       {text: fmt.Sprintf(`{"pid":%d,"start_time":"x/1"}`, live.pid()), stale: live.pid()},
		"our own number":           {text: fmt.Sprintf(`{"pid":%d}`, os.Getpid()), stale: os.Getpid()},
		"once ours":                {text: ours, stale: os.Getpid()},
		"same host":                {text: fmt.Sprintf(`{"pid":%d,"host":%q}`, live.pid(), host), refused: true},
		"other host":               {text: fmt.Sprintf(`{"pid":%d,"host":"elsewhere"}`, live.pid()), stale: live.pid()},
		"odd members, live":        {text: fmt.Sprintf(`{"started_at":7,"host":[],"pid":%d}`, live.pid()), refused: true},
		"rest of a longer text":    {text: fmt.Sprintf(`{"pid":%d}`, live.pid()) + "\n  \"host\": \"x\"\n}\n", refused: true},
		"longer than what we say":  {text: `{"pid":999999999}` + strings.Repeat(" ", 5000), stale: noPID},
		"empty":                    {text: ""},
		"not json":                 {text: "not json"},
		"no process":               {text: `{"session":"s"}`},
		"the caller's own group":   {text: `{"session":"s","pid":0}`},
		"every process there is":   {text: `{"session":"s","pid":-1}`},
		"no number":                {text: `{"session":"s","pid":"412"}`},
		"zeros, after a power cut": {text: "\x00\x00\x00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			putLock(t, p, "s", tt.text)
			l, err := store.AcquireLock(p, "s", store.LockOptions{Force: tt.force})
			if tt.refused {
				compare(t, failure.LockContention, failure.KindOf(err))
				return
			}
			check(t, err)
			swept, _ := l.StaleLock()
			require(t, swept.PID == tt.stale && l.Warning() == tt.warning, swept.PID, l.Warning())
			holderIs(t, p, os.Getpid())
			text, err := p.Read(store.LockFile("s"), 1000)
			require(t, err == nil && json.Valid(text), string(text), err)
			check(t, l.Release())
		})
	}
}

// A locked file without a living process counts as held after a short wait.
func TestLockedByUnknownProcess(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"says nothing": {"", `session "s" is locked by a process that has not written its PID`},
		"names the dead": {
			`{"session":"s","pid":999999999}`,
			`session "s" is locked, but PID 999999999 does not run here: one of its children or another container holds the lock`,
		},
		"other host": {`{"session":"s","pid":412,"host":"elsewhere"}`, `session 's' is already running (PID 412 on elsewhere)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			putLock(t, p, "s", tt.text)
			f := must(p.OpenFile(store.LockFile("s"), os.O_RDWR))
			defer f.Close()
			check(t, store.TryFlock(f))
			synctest.Test(t, func(t *testing.T) { // the wait takes no real time
				_, err := store.AcquireLock(p, "s", store.LockOptions{})
				checkRefused(t, err, tt.want)
				if _, held, err := store.LockHolder(p, "s"); !held || err != nil {
					t.Errorf("held %t, %v", held, err)
				}
				if swept, err := store.SweepLocks(p, nil); swept != nil || err != nil {
					t.Errorf("swept %v, %v", swept, err)
				}
				l, err := store.AcquireLock(p, "s", store.LockOptions{Force: true})
				require(t, err == nil && l.Warning() != "", err)
				holderIs(t, p, os.Getpid())
				check(t, l.Release())
			})
		})
	}
}

// An irregular file is refused at once, and nothing outside the project is touched.
func TestNoFile(t *testing.T) {
	outside := t.TempDir() + "/file"
	tests := map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"pipe":      func(path string) error { return unix.Mkfifo(path, 0o644) },
		"link out":  func(path string) error { return os.Symlink(outside, path) },
	}
	for name, put := range tests {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			check(t, p.Mkdir(store.LocksDir))
			check(t, put(p.Abs(store.LockFile("s"))))
			_, err := store.AcquireLock(p, "s", store.LockOptions{})
			require(t, err != nil && failure.KindOf(err) != failure.LockContention, err)
			swept, err := store.SweepLocks(p, nil)
			require(t, swept == nil && err == nil, swept, err)
			_, err = os.Lstat(outside)
			require(t, err != nil, "a file outside the project was made")
		})
	}
}

func TestSweep(t *testing.T) {
	p := project(t)
	if swept, err := store.SweepLocks(p, nil); err != nil || swept != nil {
		t.Fatalf("a fresh project: %v, %v", swept, err)
	}
	held, live := newChild(t, p).hold(), newChild(t, p)
	putLock(t, p, "dead", `{"session":"other name","pid":999999999,"started_at":"2026-01-01T00:00:00Z"}`)
	putLock(t, p, "again", fmt.Sprintf(`{"session":"again","pid":%d,"start_time":"x/1"}`, live.pid()))
	putLock(t, p, "alive", fmt.Sprintf(`{"session":"alive","pid":%d}`, live.pid()))
	putLock(t, p, "broken", "not json")
	putLock(t, p, "empty", "")
	putLock(t, p, "no session", `{"pid":999999999}`)
	putLock(t, p, "resumed now", `{"pid":999999999}`)

	swept := must(store.SweepLocks(p, func(session string) bool { return session == "resumed now" }))
	want := []store.StaleLock{{Session: "again", PID: live.pid()}, {Session: "dead", PID: noPID}}
	compare(t, want, swept)
	left := []string{"alive.lock", "broken.lock", "empty.lock", "no session.lock", "resumed now.lock", "s.lock"}
	compare(t, left, locks(t, p))
	held.end()
}

func TestHolderOfInvalidLock(t *testing.T) {
	p := project(t)
	putLock(t, p, "broken", "not json")
	putLock(t, p, "dead", `{"pid":999999999}`)
	before := locks(t, p)
	for _, session := range []string{"absent", "broken", "dead"} {
		info, held, err := store.LockHolder(p, session)
		require(t, err == nil && !held && info == (store.LockInfo{}), session, info, held, err)
	}
	compare(t, before, locks(t, p))
}

// A user with read access to the project can ask for the holder of a session.
func TestHolderReadsOnly(t *testing.T) {
	p := project(t)
	putLock(t, p, "s", `{"pid":999999999}`)
	c := newChild(t, p)
	putLock(t, p, "live", fmt.Sprintf(`{"pid":%d}`, c.pid()))
	for _, name := range locks(t, p) {
		check(t, os.Chmod(p.Abs(".claude/locks/"+name), 0o444))
	}
	holderIs(t, p, 0)
	info, held, err := store.LockHolder(p, "live")
	require(t, err == nil && held && info.PID == c.pid(), info, held, err)
}
