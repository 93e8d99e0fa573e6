package engine_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// plainEngine returns an engine without plugins for the project.
func plainEngine(t *testing.T, root string, more ...engine.Option) *engine.Engine {
	t.Helper()
	e := testkit.Must(engine.NewEngine(append([]engine.Option{
		engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"), engine.WithExecutable("-"),
		engine.WithEnvironment(nil), engine.WithProvider(agent{}),
	}, more...)...))
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// U300: pipelines are found in the engine's folder, and stages without a provider use the default one.
func TestEngineRoot(t *testing.T) {
	root, engineRoot := t.TempDir(), t.TempDir()
	pipelines := filepath.Join(engineRoot, "scripts/pipelines")
	if err := errors.Join(os.MkdirAll(pipelines, 0o755), os.WriteFile(filepath.Join(pipelines, "nightly.yaml"),
		[]byte(`{name: nightly, nodes: [{id: a, prompt: go}]}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	e := plainEngine(t, root, engine.WithEngineRoot(engineRoot), engine.WithDefaultProvider("agent"))
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
	e := plainEngine(t, root)
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

// A missing stage is reported with the nearest name, also of the library.
func TestLibrary(t *testing.T) {
	library := fstest.MapFS{"stages/tick/stage.yaml": {Data: []byte("name: tick\nprovider: agent\n")}, "stages/tick/prompt.md": {Data: []byte("tick")}}
	e := plainEngine(t, t.TempDir(), engine.WithLibrary(library))
	var missing *engine.NotFoundError
	if _, err := e.Run(t.Context(), engine.RunOptions{Stage: "tock"}); !errors.As(err, &missing) || missing.Nearest != "tick" {
		t.Errorf("error %v", err)
	}
}

// A compiled plan runs unchanged, with its own session name.
func TestRunAPlan(t *testing.T) {
	var compiled *plan.Plan
	e := plainEngine(t, project(t, onePipeline))
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "first", Observe: func(u engine.Update) { compiled = u.Plan }}))
	again := *compiled
	again.Session.Name = "second"
	if result, err := e.Run(t.Context(), engine.RunOptions{Plan: &again}); err != nil || !result.Success || result.Session != "second" {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := e.Run(t.Context(), engine.RunOptions{Plan: compiled, Max: -1}); !errors.Is(err, engine.ErrOptions) {
		t.Errorf("a maximum of -1: %v", err)
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
	e := plainEngine(t, root, engine.WithLogger(log))
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	if strings.Contains(out.String(), "a-secret-prompt") {
		t.Errorf("a prompt was logged:\n%s", &out)
	}
	if !strings.Contains(out.String(), `"@message":"removed stale lock"`) || !strings.Contains(out.String(), `"session":"demo"`) {
		t.Errorf("the removed lock was not logged:\n%s", &out)
	}
}

// U235: a subscription of a closed engine is closed; it may be closed twice.
func TestSubscribeAfterClose(t *testing.T) {
	e := testkit.Must(engine.NewEngine(engine.WithWorkDir(t.TempDir()), engine.WithConfigDir(t.TempDir()), engine.WithExecutable("-")))
	open := e.Subscribe(1)
	testkit.OK(t, e.Close(t.Context()))
	late := e.Subscribe(1)
	for _, s := range []*engine.Subscription{open, late} {
		if _, more := <-s.Updates; more {
			t.Error("an update of a closed engine")
		}
		s.Close()
		s.Close()
	}
}

// U232: Tail reads the end of a journal, follows it, and can stop at any event.
func TestTail(t *testing.T) {
	slow, working, let := blockingAgent()
	e := newEngine(t, project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agent}]}`), slow)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := e.Run(context.Background(), engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil {
			t.Error(err)
		}
	})
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
	wg.Wait()
	if err := e.Tail(t.Context(), "gone", 1, false, nil); !errors.Is(err, engine.ErrNoSession) {
		t.Errorf("no session: %v", err)
	}
}
