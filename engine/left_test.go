package engine_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

const askingAfter = `
name: asking
hooks:
  stage_end:
    - {stage: write, action: confirm, message: "Good?", accept_feedback: true}
nodes:
  - {id: write, prompt: "write ${CONTEXT}", runs: 1}
  - {id: edit, prompt: "edit ${CONTEXT}", runs: 1}
`

// U253: a program that answers as soon as it is told, or says something then, is heard, although the run pauses at that
// moment.
func TestWhatIsSaidWhileTheRunPauses(t *testing.T) {
	answer := func(word, text string) func(*enginetest.Session) error {
		return func(s *enginetest.Session) error {
			return s.Engine.Answer(t.Context(), engine.AnswerOptions{Session: s.Name, Answer: word, Text: text})
		}
	}
	for name, tt := range map[string]struct {
		say  func(*enginetest.Session) error
		want state.Status // when the run has paused
		then string       // what the agents are told when it was resumed
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
			s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: engine.RunOptions{Text: askingAfter}})
			s.Options.Observe = func(u engine.Update) {
				if u.Event != nil && u.Event.Type == event.SessionPaused {
					if err := tt.say(s); err != nil {
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
			if got := strings.Join(prompts(s), ", "); got != tt.then {
				t.Errorf("told were %q, not %q", got, tt.then)
			}
		})
	}
}

// A refusal that lies in the inbox of a session which nobody holds comes before the resume, which answers an escalation
// itself.
func TestRefusalInTheInboxComesBeforeAResume(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{Run: essay(1)})
	s.Engine.OnStageEnd(func(*engine.HookContext) engine.HookResult { return engine.RestartStage("again") })
	r := s.Run()
	if r.PauseKind != state.PauseEscalation || len(r.Questions) != 1 {
		t.Fatalf("%s (%s), questions %v", r.Status, r.PauseKind, r.Questions)
	}
	project, err := store.OpenProject(s.Project)
	if err != nil {
		t.Fatal(err)
	}
	defer project.Close()
	dir, err := project.Open(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	q := r.Questions[0]
	if _, err := inbox.Post(dir, inbox.Message{Action: inbox.Answer, Question: q.ID, Answer: event.AnswerReject, Digest: q.Digest}); err != nil {
		t.Fatal(err)
	}
	before := len(prompts(s))
	if r, err := s.Engine.Resume(t.Context(), engine.ResumeOptions{Session: s.Name}); err != nil || r.Status != state.Aborted {
		t.Errorf("%+v, %v", r, err)
	}
	if after := len(prompts(s)); after != before {
		t.Errorf("%d attempts were made after the refusal", after-before)
	}
}
