package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// left are the files in the inbox of the session demo.
func left(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".claude/pipeline-runs/demo/inbox/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// U253: two people approve before the run has taken up either: the second one is told who was first, and nothing of it stays behind.
func TestTwoPeopleApprove(t *testing.T) {
	root := project(t, asksOnce)
	others := eng(t, root, agent{})
	var first, second error
	r, err := eng(t, root, agent{}).Run(t.Context(), engine.RunOptions{
		Pipeline: "two", Session: "demo", Wait: true,
		Observe: func(u engine.Update) {
			if u.Event != nil && u.Event.Type == event.QuestionAsked {
				first = others.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: event.AnswerApprove, By: "ann"})
				second = others.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: event.AnswerApprove, By: "bob"})
			}
		},
	})
	if err != nil || !r.Success {
		t.Fatalf("%+v, %v", r, err)
	}
	if first != nil || !errors.Is(second, engine.ErrNoQuestion) || !strings.Contains(second.Error(), "is answered already: approve by ann") {
		t.Errorf("the first one: %v, the second one: %v", first, second)
	}
	if files := left(t, root); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
}

// What is said when the run has ended, and its kernel does not look any more, does not stay for the next run of the session.
func TestSaidAtTheEnd(t *testing.T) {
	root := project(t, twoStages)
	p, err := store.OpenProject(root)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e := eng(t, root, agent{})
	r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Observe: func(u engine.Update) {
		if u.Event == nil || u.Event.Type != event.SessionComplete {
			return
		}
		dir, err := p.Open("demo")
		if err != nil {
			t.Error(err)
			return
		}
		defer dir.Close()
		for _, m := range []inbox.Message{{Action: inbox.Abort}, {Action: inbox.Feedback, Text: "well done"}} {
			if _, err := inbox.Post(dir, m); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || !r.Success {
		t.Fatalf("%+v, %v", r, err)
	}
	if files := left(t, root); len(files) > 0 {
		t.Errorf("left are %v", files)
	}

	// The kernel has ended the session and has not let it go yet.
	l, err := store.AcquireLock(p, "demo", store.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.PauseSession(t.Context(), "demo", "", "ann"); !errors.Is(err, engine.ErrTerminal) {
		t.Errorf("pause: %v", err)
	}
	if files := left(t, root); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// U253: who asks for a pause twice pauses once: the resumed run goes on.
func TestPausedTwice(t *testing.T) {
	root := project(t, twoStages)
	others := eng(t, root, agent{})
	heard := make(chan struct{})
	e := eng(t, root, agent{work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
		select {
		case <-heard: // the first one is at work until then
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	pause := func(by string) {
		if err := others.PauseSession(t.Context(), "demo", "", by); err != nil {
			t.Error(err)
		}
	}
	r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Observe: func(u engine.Update) {
		switch {
		case u.Event == nil:
		case u.Event.Type == event.IterationStart:
			pause("ann")
		case u.Event.Type == event.Control:
			close(heard)
		case u.Event.Type == event.SessionPaused:
			pause("bob")
		}
	}})
	if err != nil || r.Status != state.Paused {
		t.Fatalf("%+v, %v", r, err)
	}
	if files := left(t, root); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
	if r, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !r.Success {
		t.Errorf("%+v, %v", r, err)
	}
}

// U048: state.json is a view; that it cannot be written is no second reason why an ended session does not go on.
func TestResumeOfAnEndedSessionWithoutView(t *testing.T) {
	e, dir := stopped(t)
	if r, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !r.Success {
		t.Fatalf("%+v, %v", r, err)
	}
	name := filepath.Join(dir, "state.json")
	if err := errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "in-the-way"), 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})
	if !errors.Is(err, engine.ErrTerminal) || !strings.HasPrefix(err.Error(), "session 'demo' already completed") || strings.Contains(err.Error(), "state.json") {
		t.Errorf("got %v", err)
	}
}
