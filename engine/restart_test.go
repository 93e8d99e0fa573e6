package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// A run that began in a damaged journal is resumed like any other: the damage is an earlier run's.
func TestDamageOfAnEarlierRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := false
	e := eng(t, project(t, twoStages), agent{work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
		if stop {
			stop = false
			cancel(errors.New("stop"))
			<-ctx.Done()
		}
		return nil
	}})
	result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(result.Dir, "events.jsonl")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] = '\n' // in the middle of a line
	if err := os.WriteFile(journal, text, 0o644); err != nil {
		t.Fatal(err)
	}
	stop = true
	if result, err = e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo", Force: true}); err != nil || result.Status != state.Paused {
		t.Fatalf("run again: %+v, %v", result, err)
	}
	if result, err = e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
		t.Errorf("resume: %+v, %v", result, err)
	}
}

// U047: the states that a run went through are those of its replay, also where the session had a run
// before, of which the state keeps what was asked of it.
func TestReplayOfASecondRun(t *testing.T) {
	e := eng(t, project(t, twoStages), agent{work: func(context.Context, sdk.ExecuteRequest) error { return nil }})
	var live state.State
	var p *plan.Plan
	run := func(observe func(engine.Update)) {
		t.Helper()
		if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true, Observe: observe}); err != nil {
			t.Fatal(err)
		}
	}
	asked := false
	run(func(u engine.Update) {
		if u.Event != nil && u.Event.Type == event.IterationStart && !asked {
			asked = true
			e.Stop("demo", state.PauseUser, "lunch")
		}
	})
	run(func(u engine.Update) {
		if u.State != nil {
			live, p = *u.State, u.Plan
		}
	})
	var events []event.Event
	if err := e.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error { events = append(events, ev); return nil }); err != nil {
		t.Fatal(err)
	}
	replayed, misfits := schedule.Fold(p, events)
	if len(misfits) > 0 || len(live.Handled) != 1 {
		t.Errorf("handled %v, misfits %v", live.Handled, misfits)
	}
	if diff := cmp.Diff(live, replayed); diff != "" {
		t.Errorf("live and replayed:\n%s", diff)
	}
}
