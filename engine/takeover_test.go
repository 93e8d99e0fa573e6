package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// DESIGN 5: a takeover needs force. The previous kernel's agent ends before the new one's starts, because both
// would write to the same files; the previous kernel writes nothing more.
func TestTakeover(t *testing.T) {
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
	var oldErr error
	var wg sync.WaitGroup
	wg.Go(func() { _, oldErr = older.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}) })
	<-working
	wantError(t, second(newer.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})), engine.ErrLocked)
	testkit.OK(t, completed(newer.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Force: true})))
	wg.Wait()
	if failure.KindOf(oldErr) != failure.LockContention {
		t.Errorf("the older kernel ended with %v", oldErr)
	}
	testkit.Equal(t, []string{"older ends", "newer works", "newer works", "newer works"}, order)
	epoch := 0
	testkit.OK(t, newer.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error {
		if ev.Epoch < epoch {
			t.Errorf("event %d of epoch %d after epoch %d", ev.Seq, ev.Epoch, epoch)
		}
		epoch = ev.Epoch
		return nil
	}))
}

// Force resumes sessions of other processes; a session running in this engine keeps its lock.
func TestForceOnTheEnginesOwnSession(t *testing.T) {
	root := project(t, twoStages)
	slow, working, let := blockingAgent()
	e := newEngine(t, root, slow)
	end := begin(t, e)
	<-working
	wantError(t, second(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Force: true})), engine.ErrLocked)
	testkit.Must(os.Stat(filepath.Join(root, ".claude/locks/demo.lock")))
	close(let)
	testkit.OK(t, completed(end(), nil))
}
