package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// agent is an in-process provider that calls work, if it is set, and then writes a result.
type agent struct {
	work func(ctx context.Context, req sdk.ExecuteRequest) error
}

func (agent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "agent", Aliases: []string{"helper"}, Provider: &sdk.ProviderTraits{DefaultModel: "m1"}}
}

func (a agent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if a.work != nil {
		if err := a.work(ctx, req); err != nil {
			return sdk.ExecuteResult{}, err
		}
	}
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: fmt.Sprintf("%s %d\n", req.Node, req.Iteration)})
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"done"}`), 0o644)
}

const twoStages = `name: two
defaults: {provider: agent}
nodes:
  - {id: plan, prompt: "plan ${CONTEXT}"}
  - {id: build, prompt: build, runs: 2, inputs: {from: plan}}
`

// project creates a project with one pipeline, two.yaml.
func project(t *testing.T, yaml string) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, ".claude/pipelines")
	testkit.OK(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "two.yaml"), []byte(yaml), 0o644)))
	return root
}

// newEngine returns an engine for the project, which is closed at the end of the test. It has the provider, but no
// plugins of the machine, no environment variables and no delays.
func newEngine(t *testing.T, root string, p sdk.Provider, more ...engine.Option) *engine.Engine {
	t.Helper()
	e := testkit.Must(engine.NewEngine(append([]engine.Option{
		engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"), engine.WithExecutable("-"),
		engine.WithEnvironment(nil), engine.WithProvider(p), engine.WithoutDelays(), engine.WithVersion("test"),
	}, more...)...))
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// completed returns an error unless a run succeeded.
func completed(r *engine.Result, err error) error {
	if err == nil && !r.Success {
		return fmt.Errorf("it ended with %+v", r)
	}
	return err
}

// begin runs the pipeline two as session demo in the background; end waits for its result.
func begin(t *testing.T, e *engine.Engine) (end func() *engine.Result) {
	t.Helper()
	var r *engine.Result
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if r, err = e.Run(context.Background(), engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil {
			t.Error(err)
		}
	})
	return func() *engine.Result { wg.Wait(); return r }
}

// wantError fails the test unless err wraps want.
func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// count returns the number of events of a type in the session demo.
func count(t *testing.T, e *engine.Engine, want event.Type) (n int) {
	t.Helper()
	for _, typ := range types(t, e, "demo") {
		if typ == want {
			n++
		}
	}
	return n
}

func types(t *testing.T, e *engine.Engine, session string) []event.Type {
	t.Helper()
	var types []event.Type
	err := e.Tail(t.Context(), session, -1, false, func(ev event.Event) error { types = append(types, ev.Type); return nil })
	testkit.OK(t, err)
	return types
}

// U278, U304, U305, U080: Run runs a pipeline to its end.
func TestRun(t *testing.T) {
	e := newEngine(t, project(t, twoStages), agent{})
	result := testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Context: "now"}))
	if !result.Success || result.Status != state.Completed || result.Reason != "all_loops_complete" || result.ResumeCommand != "" {
		t.Errorf("result %+v", result)
	}
	testkit.Equal(t, []string{"plan", "build"}, result.Completed)
	want := []event.Type{
		"session_start", "kernel_start",
		"node_start", "iteration_start", "iteration_complete", "decision", "node_complete", "stage_transition",
		"node_start", "iteration_start", "iteration_complete", "decision", "iteration_start", "iteration_complete", "decision", "node_complete", "stage_transition",
		"session_complete",
	}
	testkit.Equal(t, want, types(t, e, "demo"))
	status, err := e.Status("demo")
	if err != nil || status.Status != state.Completed || status.Iteration != 2 || status.Max != 2 || status.Crashed {
		t.Errorf("status %+v, %v", status, err)
	}
	if sessions, err := e.Sessions(); err != nil || len(sessions) != 1 || sessions[0].Session != "demo" || sessions[0].Status != state.Completed {
		t.Errorf("sessions %+v, %v", sessions, err)
	}
}

// D02, U091: a failing agent fails the session, which can be resumed.
func TestFailAndResume(t *testing.T) {
	broken := true
	e := newEngine(t, project(t, twoStages), agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if broken && req.Node == "build" {
			return failure.New(failure.ProviderMissing, "no CLI").WithHint("install it")
		}
		return nil
	}})
	result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	testkit.OK(t, err)
	if result.Status != state.Failed || result.Failure == nil || result.Failure.ErrorType != "provider_missing" || result.Failure.Remedy != "install it" {
		t.Errorf("result %+v, failure %+v", result, result.Failure)
	}
	wantError(t, testkit.Error(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})), engine.ErrResumable)
	broken = false
	if result, err = e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
		t.Errorf("resume: %+v, %v", result, err)
	}
}

// blockingAgent returns an agent that reports each call and waits until let is closed.
func blockingAgent() (a agent, working chan string, let chan struct{}) {
	working, let = make(chan string, 10), make(chan struct{})
	return agent{work: func(ctx context.Context, req sdk.ExecuteRequest) error {
		working <- req.Key
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, working, let
}

// U050, U052, U102: an engine stops its session, and another engine pauses or aborts that session through its inbox.
func TestControl(t *testing.T) {
	tests := []struct {
		name   string
		ask    func(worker, other *engine.Engine) error
		status state.Status
		kind   state.PauseKind
		reason string
		before event.Type // among the last four events
	}{
		{"stop lets the iteration finish", func(worker, _ *engine.Engine) error {
			worker.Stop("demo", state.PauseSignal, "SIGINT")
			return nil
		}, state.Paused, state.PauseSignal, "SIGINT", event.IterationComplete},
		{"pause lets the iteration finish", func(_, other *engine.Engine) error {
			return other.PauseSession(context.Background(), "demo", "lunch", "ann")
		}, state.Paused, state.PauseUser, "lunch", event.IterationComplete},
		{"abort cancels it", func(_, other *engine.Engine) error {
			return other.AbortSession(context.Background(), "demo", "wrong", "ann")
		}, state.Aborted, "", "wrong", event.Control},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := project(t, twoStages)
			slow, working, let := blockingAgent()
			worker, other := newEngine(t, root, slow), newEngine(t, root, agent{})
			asked, end := worker.Subscribe(100), begin(t, worker)
			defer asked.Close()
			<-working
			if err := tt.ask(worker, other); err != nil {
				t.Error(err)
			}
			waitFor(asked, event.Control)
			close(let)
			result := end()
			if result.Status != tt.status || result.PauseKind != tt.kind || result.Reason != tt.reason {
				t.Errorf("result %+v", result)
			}
			if got := types(t, other, "demo"); !slices.Contains(got[len(got)-4:], tt.before) { // late_delivery may follow
				t.Errorf("events %v", got)
			}
			wantEmptyInbox(t, root)
		})
	}
}

// A refused run leaves no files.
func TestRefusals(t *testing.T) {
	root := project(t, twoStages)
	e := newEngine(t, root, agent{})
	tests := []struct {
		name  string
		opts  engine.RunOptions
		check func(error) bool
	}{
		{"nothing named", engine.RunOptions{}, func(err error) bool { return errors.Is(err, engine.ErrOptions) }},
		{"two things named", engine.RunOptions{Pipeline: "two", Stage: "x"}, func(err error) bool { return errors.Is(err, engine.ErrOptions) }},
		{"no such pipeline", engine.RunOptions{Pipeline: "tow"}, func(err error) bool {
			var n *engine.NotFoundError
			return errors.As(err, &n) && n.Nearest == "two"
		}},
		{"no such provider", engine.RunOptions{Pipeline: "two", Provider: "agnet"}, func(err error) bool {
			return failure.KindOf(err) == failure.ProviderMissing && strings.Contains(failure.From(err).Message+failure.From(err).Hint, "agent")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := e.Run(t.Context(), tt.opts); !tt.check(err) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(root, ".claude/pipeline-runs")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused run left files: %v", err)
	}
}

// A session of the Bash engine with an unusable plan is refused and not changed.
func TestBashSessionWithoutPlan(t *testing.T) {
	root := project(t, twoStages)
	e := newEngine(t, root, agent{})
	dir := filepath.Join(root, ".claude/pipeline-runs/old")
	line := `{"ts":"2026-02-05T10:00:00Z","type":"session_start","session":"old","cursor":null,"data":{"mode":"pipeline"}}` + "\n"
	err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte(line), 0o644),
		os.WriteFile(filepath.Join(dir, "plan.json"), []byte(`{"version":1,"nodes":[]}`), 0o644))
	testkit.OK(t, err)
	refused := func(err error) bool {
		f := failure.From(err)
		return f != nil && f.Kind == failure.StateCorrupt && strings.Contains(f.Message, "it has no nodes") && strings.Contains(f.Hint, failure.Option("force"))
	}
	if _, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "old"}); !refused(err) {
		t.Errorf("resume: %v", err)
	}
	if err := e.AbortSession(t.Context(), "old", "", ""); !refused(err) {
		t.Errorf("abort: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "events.jsonl")); err != nil || string(after) != line {
		t.Errorf("the journal is now %s, %v", after, err)
	}
}

func waitFor(s *engine.Subscription, t event.Type) {
	for u := range s.Updates {
		if u.Event != nil && u.Event.Type == t {
			return
		}
	}
}
