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
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// block returns a plan of one parallel block: two providers, a stage of two iterations.
func block() *plan.Plan {
	zero := 0.0
	return &plan.Plan{Version: 1, Nodes: []plan.Node{{
		Path: "0", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "quick"}, {Name: "slow", Model: "m"}},
		Stages: []plan.Node{{Path: "0.0", ID: "ideas", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 2}, Delay: &zero}},
	}}}
}

// attemptAfter returns an agent that takes some time, by provider.
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

// U105: providers run in parallel, each with its settings of the stage; the manifest comes before the transition.
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
		if err != nil || st.Status != state.Completed || time.Since(started) != 6*time.Second {
			t.Errorf("status %s after %s, %v", st.Status, time.Since(started), err)
		}
		if diff := cmp.Diff(map[string]string{"slow": "m"}, models); diff != "" {
			t.Error(diff)
		}
		types := j.types()
		want := []event.Type{"parallel_provider_complete", "artifact_written", "node_complete", "session_complete"}
		if diff := cmp.Diff(want, types[len(types)-len(want):]); diff != "" {
			t.Error(diff)
		}
	})
}

// A manifest that cannot be written ends the run, and a later run continues with it.
func TestManifestThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, j, full := block(), &journal{}, errors.New("no space left")
		st, err := Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{manifest: full}}, startState(t, p, j))
		if !errors.Is(err, full) || st.Status != state.Running {
			t.Fatalf("status %s, %v", st.Status, err)
		}
		st, err = Run(t.Context(), Config{Plan: p, Journal: j, Effects: fakeEffects{}}, st)
		if err != nil || st.Status != state.Completed {
			t.Errorf("status %s, %v", st.Status, err)
		}
	})
}

// U107: a pause in a block lets every provider finish its iteration and begins no other.
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
		if err != nil || st.Status != state.Paused || time.Since(started) != 20*time.Second {
			t.Fatalf("status %s after %s, %v", st.Status, time.Since(started), err)
		}
		for id, b := range st.Nodes["0"].Branches {
			if b.Loop.Iteration != 1 || b.Loop.Completed != 1 {
				t.Errorf("%s: %+v", id, b.Loop)
			}
		}
	})
}
