package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Scripts for the Bash engine rely on these generated session names and pipeline files.
func TestGeneratedNames(t *testing.T) {
	root := project(t, onePipeline)
	e := newEngine(t, root, agent{})
	relative := ".claude/pipelines/two.yaml"
	absolute := filepath.Join(root, relative)
	for asked, want := range map[string]struct{ prefix, file string }{
		"two": {"pipeline-", absolute}, relative: {"two-", relative}, absolute: {"two-", absolute},
	} {
		r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: asked})
		if err != nil || !r.Success || !strings.HasPrefix(r.Session, want.prefix) {
			t.Errorf("%s: %+v, %v", asked, r, err)
			continue
		}
		journal, err := os.ReadFile(filepath.Join(root, ".claude/pipeline-runs", r.Session, "events.jsonl"))
		if err != nil || !strings.Contains(string(journal), `"pipeline_file":"`+want.file+`"`) {
			t.Errorf("%s: no pipeline_file %s in the journal (%v):\n%s", asked, want.file, err, journal)
		}
	}
}

// NewEngine fails with the cause if an engine cannot be created.
func TestNewEngineFails(t *testing.T) {
	lock := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(lock, "plugins.lock"), []byte("{"), 0o600))
	for _, tt := range []struct {
		name, want string
		options    []engine.Option
	}{
		{"no project", "open project", []engine.Option{engine.WithWorkDir(filepath.Join(lock, "gone"))}},
		{"a damaged lock", "plugins.lock", []engine.Option{engine.WithWorkDir(lock), engine.WithConfigDir(lock)}},
		{"two providers of one name", "agent", []engine.Option{
			engine.WithWorkDir(lock), engine.WithConfigDir(t.TempDir()), engine.WithProvider(agent{}), engine.WithProvider(agent{}),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if e, err := engine.NewEngine(tt.options...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("engine %v, error %v", e, err)
			}
		})
	}
}

// STYLE: prompts are never logged, at any level.
func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace, JSONFormat: true})
	root := project(t, `{name: two, defaults: {provider: agent}, nodes: [{id: a, prompt: a-secret-prompt}]}`)
	lock := filepath.Join(root, ".claude/locks/demo.lock") // of a dead kernel; its removal is logged
	testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(lock), 0o755), os.WriteFile(lock, []byte(`{"session":"demo","pid":999999999}`), 0o600)))
	e := newEngine(t, root, agent{}, engine.WithLogger(log))
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	if strings.Contains(out.String(), "a-secret-prompt") {
		t.Errorf("a prompt was logged:\n%s", &out)
	}
	if !strings.Contains(out.String(), `"@message":"removed stale lock"`) || !strings.Contains(out.String(), `"session":"demo"`) {
		t.Errorf("the removed lock was not logged:\n%s", &out)
	}
}

// U232: Tail reads the end of a journal, follows it, and can stop at any event.
func TestTail(t *testing.T) {
	slow, working, let := blockingAgent()
	e := newEngine(t, project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agent}]}`), slow)
	end := begin(t, e)
	<-working
	enough := errors.New("enough")
	tail := func(lines int, follow bool, until event.Type) (seen []event.Type) {
		t.Helper()
		err := e.Tail(t.Context(), "demo", lines, follow, func(ev event.Event) error {
			seen = append(seen, ev.Type)
			if ev.Type == until {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Errorf("ended with %v", err)
		}
		return seen
	}
	if got := tail(1, false, event.IterationStart); len(got) != 1 {
		t.Errorf("the last one is %v", got)
	}
	close(let)
	if got := tail(-1, true, event.SessionComplete); got[0] != event.SessionStart {
		t.Errorf("followed: %v", got)
	}
	end()
	wantError(t, e.Tail(t.Context(), "gone", 1, false, nil), engine.ErrNoSession)
}

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
	wantError(t, testkit.Error(e.Status("demo")), engine.ErrNoSession)
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
