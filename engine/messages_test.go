package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// wantEmptyInbox reports files in the inbox of the session demo.
func wantEmptyInbox(t *testing.T, root string) {
	t.Helper()
	testkit.Equal(t, nil, testkit.Must(filepath.Glob(filepath.Join(root, ".claude/pipeline-runs/demo/inbox/*.json"))))
}

// U253: of two concurrent approvals the second is refused with the first approver's name; both messages are removed.
func TestConcurrentApprovals(t *testing.T) {
	root := project(t, confirmOnce)
	others := newEngine(t, root, agent{})
	var first, second error
	r, err := newEngine(t, root, agent{}).Run(t.Context(), engine.RunOptions{
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
	if first != nil || !errors.Is(second, engine.ErrNoQuestion) || !strings.Contains(second.Error(), "is already answered: approve by ann") {
		t.Errorf("the first one: %v, the second one: %v", first, second)
	}
	wantEmptyInbox(t, root)
}

// Messages posted after the end of a run are not kept for the session's next run.
func TestMessagesAfterTheEnd(t *testing.T) {
	root := project(t, twoStages)
	p := testkit.Must(store.OpenProject(root))
	defer p.Close()
	e := newEngine(t, root, agent{})
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
			if _, err := inbox.Post(dir, inbox.Run{Keys: signing.UserKeys()}, m); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || !r.Success {
		t.Fatalf("%+v, %v", r, err)
	}
	wantEmptyInbox(t, root)

	// The kernel has ended the session and still holds the lock.
	l := testkit.Must(store.AcquireLock(p, "demo", store.LockOptions{}))
	wantError(t, e.PauseSession(t.Context(), "demo", "", "ann"), engine.ErrTerminal)
	wantEmptyInbox(t, root)

	// A kernel that has not written its kernel_start may begin another run: the message waits for that.
	lock := p.Abs(store.LockFile("demo"))
	text := testkit.Must(os.ReadFile(lock))
	other := bytes.ReplaceAll(text, fmt.Append(nil, os.Getpid()), []byte("1"))
	testkit.OK(t, os.WriteFile(lock, other, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	wantError(t, e.PauseSession(ctx, "demo", "", "ann"), context.DeadlineExceeded)
	wantEmptyInbox(t, root)
	testkit.OK(t, os.WriteFile(lock, text, 0o600))
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// U253: two pause requests pause once: the resumed run continues.
func TestPausedTwice(t *testing.T) {
	root := project(t, twoStages)
	others := newEngine(t, root, agent{})
	received := make(chan struct{})
	e := newEngine(t, root, agent{work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
		select {
		case <-received: // the first request is applied while the agent works
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
			close(received)
		case u.Event.Type == event.SessionPaused:
			pause("bob")
		}
	}})
	if err != nil || r.Status != state.Paused {
		t.Fatalf("%+v, %v", r, err)
	}
	wantEmptyInbox(t, root)
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
}

// U048: an unwritable state.json does not change the refusal of an ended session.
func TestResumeOfAnEndedSessionWithoutView(t *testing.T) {
	e, dir := pausedSession(t)
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
	name := filepath.Join(dir, "state.json")
	testkit.OK(t, errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "in-the-way"), 0o755)))
	_, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})
	if !errors.Is(err, engine.ErrTerminal) || !strings.HasPrefix(err.Error(), "session 'demo' already completed") || strings.Contains(err.Error(), "state.json") {
		t.Errorf("got %v", err)
	}
}

const confirmPipeline = `
name: asking
hooks:
  stage_end:
    - {stage: write, action: confirm, message: "Good?", accept_feedback: true}
nodes:
  - {id: write, prompt: "write ${CONTEXT}", runs: 1}
  - {id: edit, prompt: "edit ${CONTEXT}", runs: 1}
`

// U253: answers and feedback sent while the run pauses are applied.
func TestMessagesDuringPause(t *testing.T) {
	answer := func(word, text string) func(*enginetest.Session) error {
		return func(s *enginetest.Session) error {
			return s.Engine.Answer(t.Context(), engine.AnswerOptions{Session: s.Name, Answer: word, Text: text})
		}
	}
	for name, tt := range map[string]struct {
		send func(*enginetest.Session) error
		want state.Status // after the pause
		then string       // prompts after the resume
	}{
		"approve": {answer(event.AnswerApprove, "fine"), state.Paused, "write, edit fine"},
		"reject":  {answer(event.AnswerReject, ""), state.Aborted, "write"},
		"many words": {func(s *enginetest.Session) error {
			for range 40 {
				if err := s.Engine.Feedback(t.Context(), s.Name, "word", "ada"); err != nil {
					return err
				}
			}
			return answer(event.AnswerApprove, "fine")(s)
		}, state.Paused, "write, edit " + strings.Repeat("word\n", 40) + "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: engine.RunOptions{Text: confirmPipeline}})
			s.Options.Observe = func(u engine.Update) {
				if u.Event != nil && u.Event.Type == event.SessionPaused {
					if err := tt.send(s); err != nil {
						t.Error(err)
					}
				}
			}
			if r := s.Run(); r.Status != tt.want {
				t.Fatalf("the session is %s", r.Status)
			}
			if tt.want == state.Paused {
				if r, err := s.Engine.Resume(t.Context(), engine.ResumeOptions{Session: s.Name}); err != nil || r.Status != state.Completed {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			testkit.Equal(t, tt.then, strings.Join(prompts(s), ", "))
		})
	}
}

// A rejection in the inbox of a paused session is applied before the resume, which would answer the
// escalation itself.
func TestRejectionBeforeResume(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essayRun(1)})
	s.Engine.OnStageEnd(func(*engine.HookContext) engine.HookResult { return engine.RestartStage("again") })
	r := s.Run()
	if r.PauseKind != state.PauseEscalation || len(r.Questions) != 1 {
		t.Fatalf("%s (%s), questions %v", r.Status, r.PauseKind, r.Questions)
	}
	project := testkit.Must(store.OpenProject(s.Project))
	defer project.Close()
	dir := testkit.Must(project.Open(s.Name))
	defer dir.Close()
	q := r.Questions[0]
	testkit.Must(inbox.Post(dir, inbox.Run{ID: r.RunID, Keys: signing.UserKeys()}, inbox.Message{Action: inbox.Answer, Question: q.ID, Answer: event.AnswerReject, Digest: q.Digest}))
	before := len(prompts(s))
	if r, err := s.Engine.Resume(t.Context(), engine.ResumeOptions{Session: s.Name}); err != nil || r.Status != state.Aborted {
		t.Errorf("%+v, %v", r, err)
	}
	testkit.Equal(t, before, len(prompts(s)))
}
