package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// missingProvider is a provider that refuses to work.
type missingProvider struct{ agent }

func (missingProvider) Validate(context.Context, sdk.ValidateRequest) error {
	return failure.New(failure.ProviderMissing, "no program")
}

// A start refused before its first event leaves no session.
func TestRefusedStartLeavesNoSession(t *testing.T) {
	root := project(t, twoStages)
	e := newEngine(t, root, missingProvider{})
	dir := filepath.Join(root, ".claude/pipeline-runs/demo")
	run := func() {
		t.Helper()
		if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); failure.KindOf(err) != failure.ProviderMissing {
			t.Fatalf("run: %v", err)
		}
	}
	run()
	wantError(t, second(e.Status("demo")), engine.ErrNoSession)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the session's directory: %v", err)
	}
	note := filepath.Join(dir, "note.md") // a file of the user keeps the directory
	testkit.OK(t, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(note, []byte("mine"), 0o600)))
	run()
	if b, err := os.ReadFile(note); err != nil || string(b) != "mine" {
		t.Errorf("the note: %q, %v", b, err)
	}
}

// A refusal is reported once, with a matching hint.
func TestErrorsAreReportedOnce(t *testing.T) {
	root := project(t, twoStages)
	e := newEngine(t, root, agent{})
	testkit.OK(t, os.MkdirAll(filepath.Join(root, ".claude/pipeline-runs/empty"), 0o755))
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "done"}))
	pause := func(s string) error { return e.PauseSession(t.Context(), s, "", "") }
	abort := func(s string) error { return e.AbortSession(t.Context(), s, "", "") }
	resume := func(s string) error {
		_, err := e.Resume(t.Context(), engine.ResumeOptions{Session: s})
		return err
	}
	tests := map[string]struct {
		do      func(string) error
		session string
		is      error
		want    string
	}{
		"pause done":   {pause, "done", engine.ErrTerminal, "session 'done' is not running: it already completed"},
		"abort done":   {abort, "done", engine.ErrTerminal, "session 'done' already completed"},
		"resume done":  {resume, "done", engine.ErrTerminal, "session 'done' already completed"},
		"pause empty":  {pause, "empty", engine.ErrNothingToResume, "session 'empty' never began: its journal has no events"},
		"abort empty":  {abort, "empty", engine.ErrNothingToResume, "session 'empty' never began: its journal has no events"},
		"resume empty": {resume, "empty", engine.ErrNothingToResume, "session 'empty' never began: its journal has no events"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.do(tt.session)
			if !errors.Is(err, tt.is) || err.Error() != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A lost journal is reported once, not again at the close.
func TestLostJournalIsReportedOnce(t *testing.T) {
	root := project(t, twoStages)
	e := newEngine(t, root, agent{work: func(context.Context, sdk.ExecuteRequest) error {
		return os.Remove(filepath.Join(root, ".claude/pipeline-runs/demo/events.jsonl"))
	}})
	_, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if failure.KindOf(err) != failure.StateCorrupt || strings.Count(err.Error(), "removed or replaced") != 1 {
		t.Errorf("run: %v", err)
	}
}
