package floor_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/bench/internal/floor"
	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/engine"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent writes a line and its result.
type agent struct{}

func (agent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "agent", Provider: &sdk.ProviderTraits{}}
}

func (agent) Execute(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "Did it.\n"})
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"did it"}`), 0o600)
}

// session runs a real session and returns its directory.
func session(t *testing.T, iterations int) string {
	t.Helper()
	root := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	pipelines := filepath.Join(root, ".claude", "pipelines")
	check(t, os.MkdirAll(pipelines, 0o750))
	check(t, os.WriteFile(filepath.Join(pipelines, "bench.yaml"), []byte(ground.Loop("agent", iterations)), 0o600))
	e, err := engine.NewEngine(engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithProviderOverride("agent"), engine.WithProvider(agent{}))
	check(t, err)
	result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "bench", Session: "s"})
	check(t, errors.Join(err, e.Close(context.Background())))
	return result.Dir
}

// TestRepetitionLeavesTheSameFiles checks that the floor writes exactly the files of an iteration.
func TestRepetitionLeavesTheSameFiles(t *testing.T) {
	const iterations = 3
	made, repeated := session(t, iterations), filepath.Join(t.TempDir(), "s")
	trace, err := floor.Load(made)
	check(t, err)
	r, err := floor.Start(trace, repeated)
	check(t, err)
	calls := 0
	call := func(request []byte) error {
		calls++
		if len(request) == 0 {
			t.Error("the call says nothing")
		}
		return nil
	}
	for range iterations {
		check(t, r.Iterate(call))
	}
	if err := r.Iterate(call); err == nil {
		t.Error("an iteration more than there were")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if calls != iterations {
		t.Errorf("%d calls of the agent", calls)
	}
	if diff := cmp.Diff(files(t, made), files(t, repeated)); diff != "" {
		t.Errorf("files (-engine +floor):\n%s", diff)
	}
}

// files returns the contents of a session's files, except the files that are written once per session.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.Contains(name, "attempts"):
			found[name] = "directory"
			return nil
		case d.IsDir(), name == "plan.json", name == "pipeline.yaml", name == "metrics.json", name == "head.json", name == "events.jsonl.lock", strings.HasSuffix(name, "progress.md"):
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		found[name] = string(text)
		return err
	})
	check(t, err)
	return found
}

// TestCommits checks that the floor syncs the journal as the engine does: once per event that affects the run.
func TestCommits(t *testing.T) {
	trace, err := floor.Load(session(t, 2))
	check(t, err)
	if len(trace.Iterations) != 2 {
		t.Fatalf("%d iterations", len(trace.Iterations))
	}
	first := trace.Iterations[0]
	for name, text := range map[string][]byte{
		"iteration_start": first.Start, "iteration_complete": first.Complete, "decision": first.After[0], "session_start": trace.Prefix,
	} {
		if !strings.Contains(string(text), `"type":"`+name+`"`) {
			t.Errorf("no %s in %s", name, text)
		}
	}
	if len(first.After) != 1 {
		t.Errorf("%d commits between two iterations, not counting their own", len(first.After))
	}
	if len(first.StateBefore) >= len(first.StateAfter) {
		t.Error("the state does not grow by an iteration")
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]func(dir string) error{
		"no journal":   func(dir string) error { return os.Remove(filepath.Join(dir, "events.jsonl")) },
		"no event":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte("x\n"), 0o600) },
		"a file less":  func(dir string) error { return os.Remove(filepath.Join(dir, "stage-00-work/iterations/001/output.md")) },
		"other state":  func(dir string) error { return os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{}`), 0o600) },
		"broken state": func(dir string) error { return os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{`), 0o600) },
	}
	for name, harm := range tests {
		t.Run(name, func(t *testing.T) {
			dir := session(t, 1)
			check(t, harm(dir))
			if _, err := floor.Load(dir); err == nil {
				t.Error("it is loaded")
			}
		})
	}
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
