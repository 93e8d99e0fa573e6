package look

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

var noon = time.Date(2026, 2, 5, 12, 0, 0, 0, time.UTC)

// U231, D40: status shows the error and the command that resumes.
func TestWriteStatus(t *testing.T) {
	ended := noon.Add(-time.Minute)
	s := engine.Status{
		Identity: inspect.Identity{Session: "auth", Mode: "pipeline", Status: state.Failed},
		Position: inspect.Position{Node: "1", Stage: "work", Type: "implement", Provider: "claude", Iteration: 3, Max: 5, Attempt: 2},
		Times:    inspect.Times{Events: 9, LastEvent: "error", LastEventAt: noon.Add(-12 * time.Second), StartedAt: noon.Add(-time.Hour), EndedAt: &ended},
		Failure:  &event.FailureData{Code: "ACODE-ORCH-001", ErrorType: "provider_crashed", Message: "claude died", Remedy: "try again"},
		Dir:      "/p/.claude/pipeline-runs/auth", ResumeCommand: "agent-pipelines resume auth",
	}
	want := `Session:        auth
Status:         failed
Node:           1 (work/implement)
Provider:       claude
Iteration:      3/5 (attempt 2)
Last event:     error (12s ago)
Health:         ok (0.85: 1 error in a row, 1 iteration without progress)
Errors:         2
Duration:       59m
Run dir:        /p/.claude/pipeline-runs/auth
Error: claude died
  try again
  code: ACODE-ORCH-001 (provider_crashed); more: agent-pipelines explain provider_crashed
To resume: agent-pipelines resume auth
`
	var out bytes.Buffer
	s.Health = inspect.Health{Score: 0.85, Label: inspect.HealthOK, Errors: 2, ConsecutiveErrors: 1, WithoutProgress: 1}
	writeStatus(&out, &s, noon)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCondition(t *testing.T) {
	for want, identity := range map[string]inspect.Identity{
		"crashed (its process is gone; the work that was finished is kept)": {Status: state.Running, Crashed: true},
		"running (PID 7)":   {Status: state.Running, PID: 7},
		"paused (approval)": {Status: state.Paused},
		"completed":         {Status: state.Completed},
	} {
		s := engine.Status{Identity: identity}
		if s.Status == state.Paused {
			s.PauseKind = state.PauseApproval
		}
		if diff := cmp.Diff(want, StatusText(&s)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWriteSessions(t *testing.T) {
	var out bytes.Buffer
	writeSessions(&out, nil, noon)
	writeSessions(&out, []engine.SessionInfo{
		{Session: "auth", Status: state.Running, Crashed: true, Stage: "work", Modified: noon.Add(-90 * time.Minute)},
		{Session: "docs", Status: state.Completed, Modified: noon.Add(-3 * time.Second)},
	}, noon)
	want := `No pipeline runs found.
Recent pipeline runs:

  SESSION                  STATUS     AGE          STAGE
  auth                     crashed    1h30m ago    work
  docs                     completed  3s ago       
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}

	out.Reset()
	writeSessions(&out, []engine.SessionInfo{{Session: "agent-loop-20260102-030405", Status: state.Paused, Stage: "plan", Modified: noon}}, noon)
	writeQuestions(&out, []engine.Question{{Session: "agent-loop-20260102-030405", ID: "q-12345678", Kind: "confirm", Stage: "plan", AskedAt: noon, Text: "Well?"}}, noon)
	want = `Recent pipeline runs:

  SESSION                    STATUS     AGE          STAGE
  agent-loop-20260102-030405 paused     0s ago       plan
Open questions:

  SESSION                    QUESTION     KIND       STAGE            AGE        TEXT
  agent-loop-20260102-030405 q-12345678   confirm    plan             0s ago     Well?

` + "`agent-pipelines questions show <session> [question]` shows one with the commands that answer it.\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
