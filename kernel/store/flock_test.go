package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f := must(os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644))
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := open(t, path), open(t, path)

	check(t, store.TryFlock(a))
	check(t, store.TryFlock(a))
	if err := store.TryFlock(b); !errors.Is(err, store.ErrFlocked) {
		t.Errorf("on another open file: %v, want ErrHeld", err)
	}
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
	if most != 1 {
		t.Errorf("%d were inside at once", most)
	}
}

func TestAcquireEndsWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, waiter := open(t, path), open(t, path)
	check(t, store.TryFlock(holder))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := store.Flock(ctx, waiter)
	if !errors.Is(err, store.ErrFlocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want ErrHeld and context.Canceled", err)
	}
}

func TestClosedFile(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "lock"))
	_ = f.Close()
	if err := store.TryFlock(f); err == nil || errors.Is(err, store.ErrFlocked) {
		t.Errorf("got %v, want an error that is not ErrHeld", err)
	}
}
