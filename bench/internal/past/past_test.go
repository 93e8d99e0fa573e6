package past_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/past"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent writes a result; in one iteration it waits for its cancellation.
type agent struct {
	cut  int
	came chan struct{} // closed in that iteration
}

func (*agent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "agent", Provider: &sdk.ProviderTraits{}}
}

func (a *agent) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Iteration == a.cut {
		close(a.came)
		<-ctx.Done()
		return sdk.ExecuteResult{}, context.Cause(ctx)
	}
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"did it"}`), 0o600)
}

// run runs or resumes a session until it ends or, in iteration cut, is cancelled.
func run(t *testing.T, dir string, cut int, resume bool) *engine.Result {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	a := &agent{cut: cut, came: make(chan struct{})}
	e, err := engine.NewEngine(engine.WithWorkDir(dir), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithProviderOverride("agent"), engine.WithProvider(a))
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() { // ends with the run
		select {
		case <-a.came:
			cancel()
		case <-ended:
		}
	}()
	var result *engine.Result
	if resume {
		result, err = e.Resume(ctx, engine.ResumeOptions{Session: "s"})
	} else {
		result, err = e.Run(ctx, engine.RunOptions{Pipeline: "bench", Session: "s"})
	}
	close(ended)
	check(t, errors.Join(err, e.Close(context.Background())))
	return result
}

func project(t *testing.T, iterations int) string {
	t.Helper()
	dir := t.TempDir()
	pipelines := filepath.Join(dir, ".claude", "pipelines")
	check(t, os.MkdirAll(pipelines, 0o750))
	check(t, os.WriteFile(filepath.Join(pipelines, "bench.yaml"), []byte(ground.Loop("agent", iterations)), 0o600))
	return dir
}

var (
	varies = regexp.MustCompile(`"(result_file|duration_ms|sha256|plan_sha256|run_id|pid|start_time|pipeline_file)":("[^"]*"|\d+)`)
	folder = regexp.MustCompile(`iterations/\d+/result\.json`)
)

// story returns a journal without the data that differs between equal runs, and all result directories in order.
func story(t *testing.T, session string) (lines, results []string) {
	t.Helper()
	all, err := ground.Lines(session)
	check(t, err)
	var last event.Event
	for i, line := range all {
		e, err := event.ParseLine(line)
		check(t, err)
		if e.Seq != int64(i+1) || e.Time.Before(last.Time) {
			t.Errorf("line %d has number %d and time %s after %s", i+1, e.Seq, e.Time, last.Time)
		}
		last = e
		lines = append(lines, fmt.Sprintf("%d %s %+v %s %d %s", e.Seq, e.Type, e.Cursor, e.Key, e.Attempt, varies.ReplaceAll(e.Data, nil)))
		if e.Cursor != nil {
			lines = append(lines, fmt.Sprintf("%+v", *e.Cursor))
		}
		results = append(results, folder.FindAllString(string(e.Data), -1)...)
	}
	for i, l := range lines {
		lines[i] = regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(l, "")
	}
	return lines, results
}

// TestExtendSession checks that an extended session has the journal of a real one, and that both resume alike.
func TestExtendSession(t *testing.T) {
	const earlier = 12
	madeDir, givenDir := project(t, earlier+3), project(t, earlier+3)
	made, given := run(t, madeDir, earlier+1, false).Dir, run(t, givenDir, past.Cut, false).Dir
	check(t, past.Give(given, earlier))
	same := func() {
		t.Helper()
		wantLines, wantResults := story(t, made)
		gotLines, gotResults := story(t, given)
		if diff := cmp.Diff(wantLines, gotLines); diff != "" {
			t.Errorf("journal (-made +given):\n%s", diff)
		}
		if diff := cmp.Diff(wantResults, gotResults); diff != "" {
			t.Errorf("results (-made +given):\n%s", diff)
		}
	}
	same()
	e, err := engine.NewEngine(engine.WithWorkDir(givenDir), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"), engine.WithExecutable("-"))
	check(t, err)
	_, err = e.Verify(t.Context(), "s", true)
	check(t, errors.Join(err, e.Close(context.Background())))
	for _, dir := range []string{madeDir, givenDir} {
		if result := run(t, dir, 0, true); result.Status != "completed" {
			t.Errorf("resumed: %+v", result)
		}
	}
	same()
}

func TestExtendRefuses(t *testing.T) {
	dir := run(t, project(t, 4), past.Cut, false).Dir
	if err := past.Give(dir, 1); err == nil {
		t.Error("iterations are taken away")
	}
	if err := past.Give(t.TempDir(), 5); err == nil {
		t.Error("a session that does not exist has a past")
	}
	lines, err := ground.Lines(dir)
	check(t, err)
	early := slices.Concat(lines[0], []byte{'\n'}, lines[1], []byte{'\n'})
	check(t, os.WriteFile(filepath.Join(dir, "events.jsonl"), early, 0o600))
	if err := past.Give(dir, 5); err == nil {
		t.Error("a session that was not cut off in its third iteration has a past")
	}
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
