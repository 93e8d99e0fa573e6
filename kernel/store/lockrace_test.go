package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

const starterCount = 6

// Of many processes that start the same session at once, one wins, whatever lock file an earlier process left (U064).
func TestOneWinner(t *testing.T) {
	before := map[string]func(*testing.T, *store.Project){
		"nothing":  func(*testing.T, *store.Project) {},
		"empty":    func(t *testing.T, p *store.Project) { putLock(t, p, "s", "") },
		"dead":     func(t *testing.T, p *store.Project) { putLock(t, p, "s", `{"session":"s","pid":999999999}`) },
		"not json": func(t *testing.T, p *store.Project) { putLock(t, p, "s", "not json") },
		"killed":   func(t *testing.T, p *store.Project) { newChild(t, p).hold().kill() },
	}
	for name, prepare := range before {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			prepare(t, p)
			holders, outputs := race(t, p)
			require(t, len(holders) == 1, len(holders), outputs)
			holderIs(t, p, holders[0].pid())
			holders[0].end()
		})
	}
}

// Many processes with force override each other, each at most one holder. One has the session in the end, and the
// exits of the others do not free it.
func TestConcurrentForce(t *testing.T) {
	p := project(t)
	older := newChild(t, p).hold()
	holders, outputs := race(t, p, forceVariable+"=1")
	overridden := map[string]bool{}
	for _, text := range outputs {
		if overridden[text] && text != "holds:" {
			t.Errorf("overridden twice: %s", text)
		}
		overridden[text] = true
	}
	info, held, err := store.LockHolder(p, "s")
	last := slices.IndexFunc(holders, func(c *child) bool { return c.pid() == info.PID })
	require(t, err == nil && held && last >= 0, info, held, err)
	older.end()
	for _, c := range slices.Delete(slices.Clone(holders), last, last+1) {
		c.end()
	}
	holderIs(t, p, info.PID)
	holders[last].end()
	holderIs(t, p, 0)
}

// race starts many processes at once and returns the holders, with the outputs of all.
func race(t *testing.T, p *store.Project, env ...string) (holders []*child, outputs []string) {
	t.Helper()
	children := make([]*child, starterCount)
	for i := range children {
		children[i] = newChild(t, p, env...)
	}
	for _, c := range children {
		c.start()
	}
	for _, c := range children {
		text := c.line()
		if strings.HasPrefix(text, "holds:") {
			holders, outputs = append(holders, c), append(outputs, text)
			continue
		}
		require(t, strings.HasPrefix(text, `refused: session 's' is already running`), text)
		c.end()
	}
	return holders, outputs
}

// Concurrent readers and sweeps never make a start fail, and never take a lock for dead.
func TestReadersDoNotDisturbStarts(t *testing.T) {
	p := project(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if swept, err := store.SweepLocks(p, nil); err != nil || len(swept) > 0 {
					t.Errorf("swept %v, %v", swept, err)
				}
				if _, _, err := store.LockHolder(p, "s"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 100 {
		l, err := store.AcquireLock(p, "s", store.LockOptions{})
		if err != nil {
			t.Error(err)
			break
		}
		holderIs(t, p, l.Info().PID)
		check(t, l.Release())
	}
	close(stop)
	wg.Wait()
}

// A lock that is swept, replaced and released concurrently is reported dead once per death.
func TestDeadLockIsReportedOnce(t *testing.T) {
	p := project(t)
	for range 30 {
		putLock(t, p, "s", `{"session":"s","pid":999999999}`)
		reports := make(chan store.StaleLock, 2*starterCount)
		var wg sync.WaitGroup
		for i := range starterCount {
			wg.Go(func() {
				if i%2 == 0 {
					swept, err := store.SweepLocks(p, nil)
					if err != nil {
						t.Error(err)
					}
					for _, s := range swept {
						reports <- s
					}
					return
				}
				l, err := store.AcquireLock(p, "s", store.LockOptions{})
				if err != nil {
					return // another goroutine was faster
				}
				if s, stale := l.StaleLock(); stale {
					reports <- s
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		compare(t, 1, len(reports))
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f := must(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644))
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestTryFlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := open(t, path), open(t, path)

	check(t, store.TryFlock(a))
	check(t, store.TryFlock(a))
	err := store.TryFlock(b)
	require(t, errors.Is(err, store.ErrFlocked), err)
	check(t, store.Unflock(a))
	check(t, store.TryFlock(b))
	_ = b.Close()
	check(t, store.TryFlock(a))
}

func TestAcquireWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := open(t, path)
	check(t, store.TryFlock(holder))

	var wg sync.WaitGroup
	inside, most := 0, 0
	var mu sync.Mutex
	for range 8 {
		f := open(t, path)
		wg.Go(func() {
			if err := store.Flock(t.Context(), f); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			mu.Lock()
			inside--
			mu.Unlock()
			if err := store.Unflock(f); err != nil {
				t.Error(err)
			}
		})
	}
	check(t, store.Unflock(holder))
	wg.Wait()
	compare(t, 1, most)
}

func TestAcquireEndsWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, waiter := open(t, path), open(t, path)
	check(t, store.TryFlock(holder))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := store.Flock(ctx, waiter)
	require(t, errors.Is(err, store.ErrFlocked) && errors.Is(err, context.Canceled), err)
}

func TestClosedFile(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "lock"))
	_ = f.Close()
	err := store.TryFlock(f)
	require(t, err != nil && !errors.Is(err, store.ErrFlocked), err)
}
