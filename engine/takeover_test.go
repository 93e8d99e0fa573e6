package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// DESIGN 5: after a takeover the previous kernel's agent ends before the new one's starts: both would write
// to the same files.
func TestTakeoverWaitsForTheOlderAgent(t *testing.T) {
	root := project(t, twoStages)
	var mu sync.Mutex
	var order []string
	note := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, name)
	}
	slow, working, _ := blockingAgent()
	older := newEngine(t, root, agent{work: func(ctx context.Context, req sdk.ExecuteRequest) error {
		defer note("older ends")
		return slow.work(ctx, req)
	}})
	newer := newEngine(t, root, agent{work: func(context.Context, sdk.ExecuteRequest) error { note("newer works"); return nil }})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = older.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}) })
	<-working
	if result, err := newer.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true}); err != nil || !result.Success {
		t.Errorf("the newer one: %+v, %v", result, err)
	}
	wg.Wait()
	testkit.Equal(t, []string{"older ends", "newer works", "newer works", "newer works"}, order)
}

// Force resumes sessions of other processes; a session running in this engine keeps its lock.
func TestForceOnTheEnginesOwnSession(t *testing.T) {
	root := project(t, twoStages)
	slow, working, let := blockingAgent()
	e := newEngine(t, root, slow)
	var wg sync.WaitGroup
	wg.Go(func() {
		if result, err := e.Run(context.Background(), engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil || !result.Success {
			t.Errorf("run: %+v, %v", result, err)
		}
	})
	<-working
	if _, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Force: true}); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("resume by force: %v", err)
	}
	p := testkit.Must(store.OpenProject(root))
	if _, err := p.Stat(store.LockFile("demo")); err != nil {
		t.Errorf("the lock: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	close(let)
	wg.Wait()
}
