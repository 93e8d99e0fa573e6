package kernel

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// journal keeps events in memory and can be made to fail.
type journal struct {
	mu     sync.Mutex
	seq    int64
	events []event.Event
	fail   func(event.Event) error
}

func (j *journal) Append(_ context.Context, events ...event.Event) ([]event.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range events {
		e := &events[i]
		if j.fail != nil {
			if err := j.fail(*e); err != nil {
				return nil, err
			}
		}
		j.seq++
		e.Seq, e.Time, e.RunID, e.Epoch = j.seq, time.Now(), "PL-1", max(e.Epoch, 1)
		j.events = append(j.events, *e)
	}
	return events, nil
}

func (j *journal) types() []event.Type {
	var types []event.Type
	for _, e := range j.events {
		types = append(types, e.Type)
	}
	return types
}

// fakeEffects performs some kinds of effects with a function. Without a function, an effect succeeds.
type fakeEffects struct {
	attempt  func(context.Context, EffectRequest) event.Event
	strategy func(context.Context, EffectRequest) event.Event
	hook     func(context.Context, EffectRequest) event.Event
	manifest error
}

func (w fakeEffects) Hook(ctx context.Context, work EffectRequest) event.Event {
	if w.hook != nil {
		return w.hook(ctx, work)
	}
	c := work.Command
	return event.New(event.HookComplete, c.Location.Cursor(), c.Key, event.HookCompleteData{Hook: c.Hook, Point: string(c.Point), Answer: event.HookContinue})
}

func (w fakeEffects) Attempt(ctx context.Context, work EffectRequest) event.Event {
	if w.attempt != nil {
		return w.attempt(ctx, work)
	}
	return completeEvent(work)
}

func (w fakeEffects) Strategy(ctx context.Context, work EffectRequest) event.Event {
	if w.strategy != nil {
		return w.strategy(ctx, work)
	}
	action := "continue"
	if work.State.LoopAt(work.Command.Location).Completed >= work.Node.Termination.Max() {
		action = "stop"
	}
	return event.New(event.Decision, work.Command.Location.Cursor(), work.Command.Key, event.DecisionData{Action: action})
}

func (w fakeEffects) Question(_ context.Context, work EffectRequest) event.Event {
	return event.New(event.StrategyAnswer, work.Command.Location.Cursor(), work.Command.Key, event.StrategyAnswerData{})
}

func (w fakeEffects) Check(_ context.Context, work EffectRequest) event.Event {
	c := work.Command
	return event.New(event.CheckResult, c.Location.Cursor(), c.Key, event.CheckResultData{ID: c.Check, Passed: true})
}

func (w fakeEffects) SettleIteration(_ context.Context, work EffectRequest) event.Event {
	c := work.Command
	return event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{Settlement: event.Settlement{Outcome: "success"}})
}

func (w fakeEffects) Inspect(_ context.Context, work EffectRequest) event.Event {
	return event.New(event.InputChecked, work.Command.Location.Cursor(), work.Command.Key, event.InputCheckedData{})
}

func (w fakeEffects) PlanSteps(_ context.Context, work EffectRequest) event.Event {
	c := work.Command
	return event.New(event.StepsPlanned, c.Location.Cursor(), c.Key, event.StepsPlannedData{Steps: []event.StepData{{ID: "one"}, {ID: "two"}}})
}

func (w fakeEffects) Manifest(work EffectRequest) (event.Event, error) {
	e := event.New(event.ArtifactWritten, work.Command.Location.Cursor(), work.Command.Key, event.ArtifactWrittenData{Name: event.Manifest})
	return e, w.manifest
}

func completeEvent(w EffectRequest) event.Event {
	e := event.New(event.IterationComplete, w.Command.Location.Cursor(), w.Command.Key, event.IterationCompleteData{Decision: "continue"})
	e.Attempt = w.Command.Attempt
	return e
}

func failedEvent(w EffectRequest, err error) event.Event {
	f := failure.From(err)
	e := event.New(event.Error, w.Command.Location.Cursor(), w.Command.Key,
		event.FailureData{ErrorType: string(f.Kind), Message: f.Message, Retryable: f.Retryable})
	e.Attempt = w.Command.Attempt
	return e
}

// untilCancelled is an agent that works until it is cancelled.
func untilCancelled(ctx context.Context, w EffectRequest) event.Event {
	<-ctx.Done()
	return failedEvent(w, context.Cause(ctx))
}

func twoStages() *plan.Plan {
	stage := func(path, id string, limit int) plan.Node {
		return plan.Node{Path: path, ID: id, Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": limit}}
	}
	return &plan.Plan{Version: 1, Nodes: []plan.Node{stage("0", "a", 2), stage("1", "b", 1)}}
}

func startState(t *testing.T, p *plan.Plan, j *journal) state.State {
	t.Helper()
	start := event.New(event.SessionStart, nil, "", event.SessionStartData{Mode: "pipeline", SchedulerVersion: progress.Version})
	kernel := event.New(event.KernelStart, nil, "", event.KernelStartData{})
	events := must(j.Append(t.Context(), start, kernel))
	var st state.State
	for _, e := range events {
		st = must(progress.Apply(p, st, e))
	}
	return st
}

// runBubble runs a subtest in a bubble of synctest, where time is simulated.
func runBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// U080, U081, U089: nodes run in order, with the delay between iterations and not after the last.
func TestRunToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		started := time.Now()
		st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{}}, startState(t, p, j)))
		want := []event.Type{
			"session_start", "kernel_start",
			"node_start", "iteration_start", "iteration_complete", "decision", "timer_set", "timer_fired",
			"iteration_start", "iteration_complete", "decision", "node_complete",
			"node_start", "iteration_start", "iteration_complete", "decision", "node_complete", "session_complete",
		}
		compare(t, want, j.types())
		require(t, st.Status == state.Completed && time.Since(started) == 3*time.Second, st.Status, time.Since(started))
	})
}

// U100: a transient failure is retried once, after 2 s; then the node and the run fail.
func TestRetryThenFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		crashing := fakeEffects{attempt: func(_ context.Context, w EffectRequest) event.Event {
			return failedEvent(w, failure.New(failure.ProviderCrashed, "crashed"))
		}}
		started := time.Now()
		st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: crashing}, startState(t, p, j)))
		want := []event.Type{"session_start", "kernel_start", "node_start", "iteration_start", "error", "timer_set", "timer_fired", "retry", "error", "node_complete"}
		compare(t, want, j.types())
		require(t, st.Status == state.Failed && st.Failure.ErrorType == "provider_crashed" && time.Since(started) == 2*time.Second, st.Status, st.Failure, time.Since(started))
	})
}

// U102: after a signal an iteration may end within 30 s, then it is cancelled; the session pauses.
func TestSignalGivesTheIterationTime(t *testing.T) {
	for _, tt := range []struct {
		name     string
		takes    time.Duration
		want     time.Duration
		finishes bool
	}{
		{"it ends in time", 20 * time.Second, 20 * time.Second, true},
		{"it does not", time.Hour, 31 * time.Second, false},
	} {
		runBubble(t, tt.name, func(t *testing.T) {
			p, j := twoStages(), &journal{}
			slow := fakeEffects{attempt: func(ctx context.Context, w EffectRequest) event.Event {
				select {
				case <-time.After(tt.takes):
					return completeEvent(w)
				case <-ctx.Done():
					return failedEvent(w, context.Cause(ctx))
				}
			}}
			control := make(chan event.Event)
			started := time.Now()
			var sending sync.WaitGroup
			sending.Go(func() {
				time.Sleep(time.Second)
				control <- event.New(event.Control, nil, "", event.ControlData{ID: "1", Action: "pause", Kind: "signal"})
			})
			st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: slow, Control: control}, startState(t, p, j))
			sending.Wait()
			if err != nil {
				t.Fatal(err)
			}
			require(t, st.Status == state.Paused && st.PauseKind == state.PauseSignal && (st.Nodes["0"].Loop.Completed == 1) == tt.finishes, st)
			compare(t, tt.want, time.Since(started))
		})
	}
}

// A cancelled context stops at once and leaves a session that can be resumed.
func TestCancelledContextPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("second signal")) })
		st := must(Run(ctx, Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: untilCancelled}}, startState(t, p, j)))
		require(t, st.Status == state.Paused && st.PauseKind == state.PauseSignal && st.PauseReason == "second signal" && st.Nodes["0"].Loop.Phase == state.PhaseReady, st)
	})
}

// U052: an abort cancels the attempt and ends the run.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		control := make(chan event.Event, 2)
		abort := event.New(event.Control, nil, "", event.ControlData{ID: "1", Action: "abort", Reason: "enough"})
		control <- abort
		control <- abort // the repeated message is dropped
		st := must(Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: untilCancelled}, Control: control}, startState(t, p, j)))
		require(t, st.Status == state.Aborted && st.Reason == "enough", st)
	})
}

// A journal that fails ends the run with its error; everything in flight is cancelled.
func TestJournalFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		p, j := twoStages(), &journal{}
		st := startState(t, p, j)
		j.fail = func(e event.Event) error {
			if e.Type == event.Control {
				return full
			}
			return nil
		}
		control := make(chan event.Event, 1)
		control <- event.New(event.Control, nil, "", event.ControlData{ID: "1", Action: "pause"})
		_, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: untilCancelled}, Control: control}, st)
		require(t, errors.Is(err, full), err)
	})
}

// An unexpected end of an effect is recorded and changes nothing. A run that then has nothing to wait for returns an
// error instead of hanging.
func TestLateDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := twoStages(), &journal{}
		wrong := fakeEffects{attempt: func(_ context.Context, w EffectRequest) event.Event {
			w.Command.Key = event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 7}.Key(event.KeyAttempt, 1)
			return completeEvent(w)
		}}
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: wrong}, startState(t, p, j))
		require(t, failure.KindOf(err) == failure.Internal, err)
		want := []event.Type{"session_start", "kernel_start", "node_start", "iteration_start", "late_delivery"}
		compare(t, want, j.types())
		require(t, st.Nodes["0"].Loop.Completed == 0, st)
	})
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// block returns a plan of one parallel block: two providers, a stage of two iterations.
func block() *plan.Plan {
	zero := 0.0
	return &plan.Plan{Version: 1, Nodes: []plan.Node{{
		Path: "0", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "quick"}, {Name: "slow", Model: "m"}},
		Stages: []plan.Node{{Path: "0.0", ID: "ideas", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 2}, Delay: &zero}},
	}}}
}

// attemptAfter returns an agent that works for a time that depends on its provider.
func attemptAfter(by map[string]time.Duration) func(context.Context, EffectRequest) event.Event {
	return func(ctx context.Context, w EffectRequest) event.Event {
		select {
		case <-time.After(by[w.Command.Location.Branch]):
			return completeEvent(w)
		case <-ctx.Done():
			return failedEvent(w, context.Cause(ctx))
		}
	}
}

// U105: providers run in parallel, each with its own model; the manifest is written before the node completes.
func TestBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := block(), &journal{}
		work := attemptAfter(map[string]time.Duration{"quick": time.Second, "slow": 3 * time.Second})
		models := map[string]string{}
		attempt := func(ctx context.Context, w EffectRequest) event.Event {
			if w.Command.Location.Iteration == 1 && w.Command.Location.Branch == "slow" {
				models[w.Node.Provider.Type] = w.Node.Provider.Model
			}
			return work(ctx, w)
		}
		started := time.Now()
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: attempt}}, startState(t, p, j))
		require(t, err == nil && st.Status == state.Completed && time.Since(started) == 6*time.Second, st.Status, time.Since(started), err)
		compare(t, map[string]string{"slow": "m"}, models)
		types := j.types()
		want := []event.Type{"parallel_provider_complete", "artifact_written", "node_complete", "session_complete"}
		compare(t, want, types[len(types)-len(want):])
	})
}

// A manifest that cannot be written ends the run, and a later run writes the manifest.
func TestManifestThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j, full := block(), &journal{}, errors.New("no space left")
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{manifest: full}}, startState(t, p, j))
		require(t, errors.Is(err, full) && st.Status == state.Running, st.Status, err)
		st, err = Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{}}, st)
		require(t, err == nil && st.Status == state.Completed, st.Status, err)
	})
}

// U107: a pause in a block lets every provider finish its iteration and begins no further iteration.
func TestPauseInABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j := block(), &journal{}
		control := make(chan event.Event)
		var sending sync.WaitGroup
		sending.Go(func() { time.Sleep(time.Second); control <- controlEvent("pause", "signal") })
		started := time.Now()
		attempt := attemptAfter(map[string]time.Duration{"quick": 5 * time.Second, "slow": 20 * time.Second})
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{attempt: attempt}, Control: control}, startState(t, p, j))
		sending.Wait()
		require(t, err == nil && st.Status == state.Paused && time.Since(started) == 20*time.Second, st.Status, time.Since(started), err)
		for id, b := range st.Nodes["0"].Branches {
			require(t, b.Loop.Iteration == 1 && b.Loop.Completed == 1, id, b.Loop)
		}
	})
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}
