package engine_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U300: pipelines are found in the engine's folder, and stages without a provider use the default one.
func TestEngineRoot(t *testing.T) {
	root, engineRoot := t.TempDir(), t.TempDir()
	pipelines := filepath.Join(engineRoot, "scripts/pipelines")
	if err := errors.Join(os.MkdirAll(pipelines, 0o755), os.WriteFile(filepath.Join(pipelines, "nightly.yaml"),
		[]byte(`{name: nightly, nodes: [{id: a, prompt: go}]}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, root, agent{}, engine.WithEngineRoot(engineRoot), engine.WithDefaultProvider("agent"))
	first, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "nightly"})
	if err != nil || !first.Success {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "nightly"})
	if err != nil || !second.Success || second.Session == first.Session {
		t.Errorf("a second one: %+v, %v", second, err)
	}
}

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

// An engine that cannot be created reports the error and leaves nothing open.
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
	lock := filepath.Join(root, ".claude/locks/demo.lock") // of a dead kernel, which is logged
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
