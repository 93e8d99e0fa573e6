package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// lateProvider is an agent with the name late.
type lateProvider struct{ agent }

func (lateProvider) Describe() sdk.Component { return sdk.Component{Name: "late"} }

// K2, U278: a provider registered at run time serves the stages that name it; a duplicate is refused.
func TestRegisterProvider(t *testing.T) {
	e := newEngine(t, project(t, `{name: two, nodes: [{id: a, prompt: go, provider: late}]}`), agent{})
	testkit.Fails(t, testkit.Error(e.Compile(t.Context(), engine.RunOptions{Pipeline: "two"})), "late")
	testkit.OK(t, e.RegisterProvider(lateProvider{}))
	testkit.Fails(t, e.RegisterProvider(lateProvider{}), "taken")
	testkit.OK(t, completed(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "s"})))
}

// serialProvider is a serial provider that counts its calls.
type serialProvider struct {
	agent
	inits, ends, overlaps, calls atomic.Int64
	busy                         atomic.Bool
}

func (*serialProvider) Describe() sdk.Component {
	return sdk.Component{Name: "single", Concurrency: sdk.ConcurrencySerial}
}
func (a *serialProvider) Init(context.Context, sdk.InitRequest) error { a.inits.Add(1); return nil }
func (a *serialProvider) Shutdown(context.Context) error              { a.ends.Add(1); return nil }
func (a *serialProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if !a.busy.CompareAndSwap(false, true) {
		a.overlaps.Add(1)
	}
	defer a.busy.Store(false)
	a.calls.Add(1)
	return a.agent.Execute(ctx, req, x)
}

// Seed 004, provider concurrency: a serial provider has one call at a time across sessions. It is initialized
// once and ends with the engine, not with a session.
func TestSharedProvider(t *testing.T) {
	a := &serialProvider{}
	root := project(t, `{name: two, nodes: [{id: a, prompt: go, provider: single, runs: 3}]}`)
	e := newEngine(t, root, a)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if r, err := e.Run(context.Background(), engine.RunOptions{Pipeline: "two", Session: fmt.Sprint("s", i)}); err != nil || !r.Success {
				t.Errorf("session %d: %+v, %v", i, r, err)
			}
		})
	}
	wg.Wait()
	if a.calls.Load() != 18 || a.overlaps.Load() != 0 || a.inits.Load() != 1 || a.ends.Load() != 0 {
		t.Errorf("%d calls, %d overlaps, %d inits, %d ends", a.calls.Load(), a.overlaps.Load(), a.inits.Load(), a.ends.Load())
	}
	if err := e.Close(context.Background()); err != nil || a.ends.Load() != 1 {
		t.Errorf("closed: %v, %d ends", err, a.ends.Load())
	}
}

// stopAtThree stops at the third iteration.
type stopAtThree struct{}

func (stopAtThree) Describe() sdk.Component { return sdk.Component{Name: "patient"} }
func (stopAtThree) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	if req.Iteration == 3 {
		return sdk.Decision{Action: sdk.DecisionStop, Reason: "patience is at its end"}, nil
	}
	return sdk.Decision{Action: sdk.DecisionContinue}, nil
}

// U278: a program registers a termination strategy.
func TestWithTermination(t *testing.T) {
	root := project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agent, termination: {type: patient, max: 9}}]}`)
	e := newEngine(t, root, agent{}, engine.WithTermination(stopAtThree{}))
	r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "s"})
	if err != nil || !r.Success || r.Stages[0].Iterations != 3 {
		t.Errorf("result %+v, %v", r, err)
	}
}

// configAction answers with its configuration.
type configAction struct{}

func (configAction) Describe() sdk.Component { return sdk.Component{Name: "loud"} }
func (configAction) Run(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Action: sdk.ActionPause, Reason: "received " + string(req.Config)}, nil
}

// U278: a program registers a hook action.
func TestWithHookAction(t *testing.T) {
	root := project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agent}], hooks: {stage_end: [{action: loud, at: last}]}}`)
	e := newEngine(t, root, agent{}, engine.WithHookAction(configAction{}))
	r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "s"})
	if err != nil || r.Status != state.Paused || !strings.Contains(r.Reason, `received {"at":"last"}`) {
		t.Errorf("result %+v, %v", r, err)
	}
}

// U278: a pipeline given as text runs, and faults have positions in the text.
func TestText(t *testing.T) {
	var prompts []string
	e := newEngine(t, t.TempDir(), promptAgent(&prompts, new(bool)))
	text := "name: inline\nnodes:\n  - {id: a, provider: agent, prompt: \"say ${CONTEXT}\"}\n"
	r, err := e.Run(t.Context(), engine.RunOptions{Text: text, Context: "hello"})
	if err != nil || !r.Success || !strings.HasPrefix(r.Session, "pipeline-") || !slices.Equal(prompts, []string{"say hello"}) {
		t.Errorf("result %+v, %v, prompts %q", r, err, prompts)
	}
	_, err = e.Run(t.Context(), engine.RunOptions{Text: strings.Replace(text, "prompt", "promt", 1)})
	testkit.Fails(t, err, "<text>:3:")
	wantError(t, testkit.Error(e.Run(t.Context(), engine.RunOptions{Text: text, Pipeline: "two"})), engine.ErrOptions)
}

// U278: a compiled plan runs in several concurrent sessions, with shipped stages, and is not changed.
func TestPlanRunsSeveralTimes(t *testing.T) {
	root := project(t, "{name: two, nodes: [{id: a, stage: tick, context: early}, {id: b, prompt: \"b ${CONTEXT}\", provider: agent}]}")
	var mu sync.Mutex
	prompts := map[string][]string{}
	e := newEngine(t, root, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		mu.Lock()
		defer mu.Unlock()
		prompts[req.Session] = append(prompts[req.Session], req.Prompt)
		return nil
	}}, engine.WithLibrary(testLibrary("v1")))
	p := testkit.Must(e.Compile(t.Context(), engine.RunOptions{Pipeline: "two", Session: "first"}))
	before := testkit.Must(json.Marshal(p))
	if sessions, err := e.Sessions(); err != nil || len(sessions) != 0 {
		t.Errorf("sessions after Compile: %v, %v", sessions, err)
	}
	var wg sync.WaitGroup
	for _, session := range []string{"one", "two", "three"} {
		wg.Go(func() {
			r, err := e.Run(context.Background(), engine.RunOptions{Plan: p, Session: session, Context: "of " + session})
			if err != nil || !r.Success || r.Session != session {
				t.Errorf("%s: %+v, %v", session, r, err)
			}
		})
	}
	wg.Wait()
	want := map[string][]string{}
	for _, session := range []string{"one", "two", "three"} {
		want[session] = []string{"tick of v1", "b of " + session}
	}
	testkit.Equal(t, want, prompts)
	if after, err := json.Marshal(p); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the plan is now %s, %v", after, err)
	}
	if r, err := e.Run(t.Context(), engine.RunOptions{Plan: p}); err != nil || r.Session != "first" {
		t.Errorf("by the name that it was compiled for: %+v, %v", r, err)
	}
	bare := newEngine(t, root, agent{})
	if _, err := bare.Run(t.Context(), engine.RunOptions{Plan: p, Session: "s"}); !errors.Is(err, engine.ErrOptions) || !strings.Contains(err.Error(), "stages/tick") {
		t.Errorf("an engine that ships nothing: %v", err)
	}
}

// U278: a program builds a plan; an invalid one is refused before anything is written.
func TestPlanByHand(t *testing.T) {
	e := newEngine(t, t.TempDir(), agent{})
	hand := func(change func(*plan.Node)) *plan.Plan {
		n := plan.Node{Path: "0", ID: "a", Kind: plan.KindStage, Prompt: "go", Provider: &plan.Provider{Type: "agent"}, Termination: plan.Termination{"max": 2}}
		change(&n)
		return &plan.Plan{Nodes: []plan.Node{n}}
	}
	whole := hand(func(*plan.Node) {})
	r, err := e.Run(t.Context(), engine.RunOptions{Plan: whole, Session: "hand"})
	if err != nil || !r.Success || r.Stages[0].Iterations != 2 {
		t.Fatalf("result %+v, %v", r, err)
	}
	for name, o := range map[string]engine.RunOptions{
		"no nodes":        {Plan: &plan.Plan{}},
		"another version": {Plan: &plan.Plan{Version: 99, Nodes: whole.Nodes}},
		"no prompt":       {Plan: hand(func(n *plan.Node) { n.Prompt = "" })},
		"no provider":     {Plan: hand(func(n *plan.Node) { n.Provider = nil })},
		"a model over it": {Plan: whole, Model: "m"},
		"inputs over it":  {Plan: whole, Inputs: []string{"x"}},
		"a node left out": {Plan: whole, Skip: []string{"x"}},
		"fewer cycles":    {Plan: whole, MaxCycles: 1},
		"a maximum of -1": {Plan: whole, Max: -1},
	} {
		o.Session = "refused"
		if _, err := e.Run(t.Context(), o); !errors.Is(err, engine.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantError(t, testkit.Error(e.Status("refused")), engine.ErrNoSession)
}

// U304: result and status describe the end of every node.
func TestStageResults(t *testing.T) {
	root := project(t, `name: two
defaults: {provider: agent}
policy: {retry: {backoff: [0]}}
nodes:
  - {id: plan, prompt: go, runs: 2}
  - {id: sides, parallel: {providers: [{name: agent, as: left}, {name: agent, as: right}], stages: [{id: draw, prompt: go, runs: 2}]}}
  - {id: build, prompt: go}
  - {id: never, prompt: go}
`)
	e := newEngine(t, root, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if req.Node == "build" {
			return errors.New("broken")
		}
		return nil
	}})
	r := testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "s"}))
	want := []inspect.StageResult{
		{ID: "plan", Path: "0", Kind: plan.KindStage, Status: "complete", Outcome: "success", Iterations: 2},
		{ID: "sides", Path: "1", Kind: plan.KindParallel, Status: "complete", Outcome: "success", Iterations: 4},
		{ID: "build", Path: "2", Kind: plan.KindStage, Status: "failed", Outcome: "error"},
		{ID: "never", Path: "3", Kind: plan.KindStage, Status: "pending"},
	}
	testkit.Equal(t, want, r.Stages, cmpopts.IgnoreFields(inspect.StageResult{}, "Duration", "Output", "Reason", "Providers"))
	if r.Stages[0].Reason == "" || r.Stages[0].Duration <= 0 || r.Stages[3].Duration != 0 || len(r.Stages[1].Providers) != 2 {
		t.Errorf("stages %+v", r.Stages)
	}
	testkit.Equal(t, filepath.Join(r.Dir, "stage-00-plan/iterations/002/output.md"), r.Stages[0].Output)
	status := testkit.Must(e.Status("s"))
	testkit.Equal(t, r.Stages, status.Stages)
}

// U278, SDK tests: cancelling ctx pauses the session, which can be resumed, and leaves no goroutine.
func TestCancelLeavesNothing(t *testing.T) {
	running := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	root := project(t, twoStages)
	work := agent{work: func(ctx context.Context, req sdk.ExecuteRequest) error {
		if req.Node == "build" && req.Iteration == 1 && req.Epoch == 1 {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}}
	e := newEngine(t, root, work)
	updates := e.Subscribe(1)
	r, err := e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "s"})
	if err != nil || r.Status != state.Paused || r.PauseKind != state.PauseSignal || r.ResumeCommand == "" {
		t.Fatalf("result %+v, %v", r, err)
	}
	if r, err = e.Resume(t.Context(), engine.ResumeOptions{Session: "s"}); err != nil || !r.Success {
		t.Errorf("resume %+v, %v", r, err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	for range updates.Updates { // closed with the engine
	}
	goleak.VerifyNone(t, running)
}

// U278, SDK tests: two engines with different configurations run independently.
func TestEnginesSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 2 {
		root := project(t, twoStages)
		var calls atomic.Int64
		e := newEngine(t, root, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
			calls.Add(1)
			if !strings.HasPrefix(req.WorkDir, root) {
				t.Errorf("engine %d works in %s", i, req.WorkDir)
			}
			return nil
		}})
		all := e.Subscribe(1000)
		for j := range 3 {
			wg.Go(func() {
				r, err := e.Run(context.Background(), engine.RunOptions{Pipeline: "two", Session: fmt.Sprint("s", j)})
				if err != nil || !r.Success {
					t.Errorf("engine %d: %+v, %v", i, r, err)
				}
			})
		}
		t.Cleanup(func() {
			all.Close()
			started := 0
			for u := range all.Updates {
				if u.Event != nil && u.Event.Type == event.IterationStart {
					started++
				}
			}
			if int64(started) != calls.Load() || started != 9 {
				t.Errorf("engine %d: %d iterations begun, %d calls", i, started, calls.Load())
			}
		})
	}
	wg.Wait()
}

// Fifty concurrent sessions have one reader each; one fast and one slow reader read all sessions. Every session
// completes, the fast reader misses nothing, the slow one gets the number of missed updates, and no goroutine is left.
func TestFiftySessions(t *testing.T) {
	const sessions = 50
	running := goleak.IgnoreCurrent()
	e := newEngine(t, project(t, twoStages), agent{})
	var called atomic.Int64
	e.OnStageStart(func(h *engine.HookContext) engine.HookResult {
		called.Add(1)
		return engine.ModifyContext("for " + h.Session)
	})
	e.OnIterationEnd(func(*engine.HookContext) engine.HookResult { called.Add(1); panic("contained") })
	quick, slow := e.Subscribe(sessions*100), e.Subscribe(1)
	var runs, readers sync.WaitGroup
	for i := range sessions {
		name := fmt.Sprint("s", i)
		own := e.SubscribeSession(name, 1000)
		readers.Go(func() {
			var read []event.Type
			for u := range own.Updates {
				if u.Session != name || u.Missed != 0 {
					t.Errorf("a reader of %s got %+v", name, u)
				}
				if u.Event != nil {
					read = append(read, u.Event.Type)
				}
			}
			if len(read) == 0 || read[len(read)-1] != event.SessionComplete {
				t.Errorf("the reader of %s saw %v", name, read)
			}
		})
		runs.Go(func() {
			r, err := e.Run(context.Background(), engine.RunOptions{Pipeline: "two", Session: name})
			if err != nil || !r.Success {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			own.Close()
		})
	}
	runs.Wait()
	readers.Wait()
	testkit.Equal(t, sessions, len(testkit.Must(e.Sessions())))
	if n := called.Load(); n != sessions*5 { // two stages, three iterations
		t.Errorf("the hooks were called %d times", n)
	}
	journaled := 0
	for i := range sessions {
		journaled += len(types(t, e, fmt.Sprint("s", i)))
	}
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
	events, missed := 0, 0
	for u := range quick.Updates {
		if u.Event != nil {
			events++
		}
		missed += u.Missed
	}
	if events != journaled || missed != 0 || quick.Dropped() != 0 {
		t.Errorf("%d of %d events, %d missed, %d dropped", events, journaled, missed, quick.Dropped())
	}
	for u := range slow.Updates {
		missed += u.Missed
	}
	if missed == 0 || int64(missed) != slow.Dropped() {
		t.Errorf("the slow reader got %d missed updates, want %d", missed, slow.Dropped())
	}
	goleak.VerifyNone(t, running)
}
