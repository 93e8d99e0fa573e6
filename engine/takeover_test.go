package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A takeover needs force. The previous kernel's agent ends before the new kernel's agent starts, because both
// would write to the same files; the previous kernel writes nothing more.
func TestForcedResume(t *testing.T) {
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
	wantError(t, testkit.Error(newer.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})), engine.ErrLocked)
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
	wantError(t, testkit.Error(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Force: true})), engine.ErrLocked)
	testkit.Must(os.Stat(filepath.Join(root, ".claude/locks/demo.lock")))
	close(let)
	testkit.OK(t, completed(end(), nil))
}

// Another engine cannot start, resume or remove a running session, but can follow it.
func TestRunningSessionFromElsewhere(t *testing.T) {
	root := project(t, twoStages)
	a, working, let := blockingAgent()
	e, elsewhere := newEngine(t, root, a), newEngine(t, root, agent{})
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
		done <- err
	}()
	<-working
	for name, err := range map[string]error{
		"start":  testkit.Error(elsewhere.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})),
		"resume": testkit.Error(elsewhere.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"})),
		"remove": elsewhere.RemoveSession(t.Context(), "demo"),
	} {
		if !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), "already running") {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, testkit.Error(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true})), engine.ErrLocked)
	awaitRefused(t, filepath.Join(root, ".claude/pipeline-runs/demo/inbox"))
	var followed []string
	following, begun := make(chan error, 1), make(chan struct{})
	go func() {
		following <- elsewhere.Follow(t.Context(), "demo", 2, func(u engine.Update) error {
			if followed == nil {
				close(begun) // the existing events are read: the session may continue
			}
			followed = append(followed, string(u.Event.Type)+" "+string(u.State.Status))
			return nil
		})
	}()
	<-begun
	close(let)
	for range 2 {
		<-working
	}
	testkit.OK(t, errors.Join(<-done, <-following))
	if len(followed) < 3 || followed[0] != "node_start running" || followed[len(followed)-1] != "session_complete completed" {
		t.Errorf("followed %q", followed)
	}
	testkit.OK(t, elsewhere.RemoveSession(t.Context(), "demo"))
	wantError(t, testkit.Error(e.Status("demo")), engine.ErrNoSession)
	if _, err := os.Stat(filepath.Join(root, ".claude/locks/demo.lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock stays: %v", err)
	}
}

// awaitRefused puts a file that is not a message into an inbox, and waits until the session has moved the file to
// bad.
func awaitRefused(t *testing.T, inbox string) {
	t.Helper()
	testkit.OK(t, errors.Join(os.MkdirAll(inbox, 0o755), os.WriteFile(filepath.Join(inbox, "x.json"), []byte("{"), 0o644)))
	for {
		switch bad, err := os.ReadDir(filepath.Join(inbox, "bad")); {
		case t.Context().Err() != nil:
			t.Fatal("the file stays in the inbox")
		case err == nil && len(bad) > 0:
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A missing session is not removed. A session with an invalid name is neither removed nor started.
func TestSessionNames(t *testing.T) {
	e := newEngine(t, project(t, twoStages), agent{})
	wantError(t, e.RemoveSession(t.Context(), "demo"), engine.ErrNoSession)
	for name, err := range map[string]error{
		"remove":    e.RemoveSession(t.Context(), "a/b"),
		"preflight": testkit.Error(e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "a/b"})),
		"run":       testkit.Error(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "a/b"})),
		"resume":    testkit.Error(e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "a/b"})),
	} {
		if !errors.Is(err, engine.ErrSessionName) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Follow ends with the observer's error, or at once if no kernel holds the session.
func TestFollowEnds(t *testing.T) {
	e := newEngine(t, project(t, twoStages), agent{})
	wantError(t, e.Follow(t.Context(), "demo", 1, nil), engine.ErrNoSession)
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	enough := errors.New("enough")
	dir := ""
	if err := e.Follow(t.Context(), "demo", -1, func(u engine.Update) error { dir = u.Dir; return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	if s, err := e.Status("demo"); err != nil || dir != s.Dir {
		t.Errorf("an update has the session directory %q: %v", dir, err)
	}
	count := 0
	if err := e.Follow(t.Context(), "demo", 0, func(engine.Update) error { count++; return nil }); err != nil || count != 0 {
		t.Errorf("%d events, %v", count, err)
	}
}
