package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// pausedSession returns a session "demo" paused in its first iteration, and an engine that can finish it.
func pausedSession(t *testing.T) (e *engine.Engine, dir string) {
	t.Helper()
	root := project(t, twoStages)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	first := newEngine(t, root, agent{work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
		cancel(errors.New("stop"))
		<-ctx.Done()
		return ctx.Err()
	}})
	result := testkit.Must(first.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo"}))
	return newEngine(t, root, agent{}), result.Dir
}

// rewriteFile replaces the content of a file by the result of change.
func rewriteFile(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	text := testkit.Must(os.ReadFile(file))
	testkit.OK(t, os.WriteFile(file, change(text), 0o644))
}

// splitLines returns a journal's lines, without newlines.
func splitLines(journal []byte) [][]byte {
	return bytes.Split(bytes.TrimRight(journal, "\n"), []byte("\n"))
}

// U048, U301: a session with unusable files is refused with the damage and a hint. Force restarts it, except
// over files of a newer version.
func TestDamagedSession(t *testing.T) {
	for _, tt := range []struct {
		name       string
		damage     func(t *testing.T, dir string)
		want, hint string
	}{
		{"an event that this version must know and does not", func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "events.jsonl"), func(text []byte) []byte {
				l := splitLines(text)
				var e map[string]any
				testkit.OK(t, json.Unmarshal(l[len(l)-1], &e))
				e["type"], e["must"], e["seq"] = "of_the_future", true, len(l)+1
				b := testkit.Must(json.Marshal(e))
				return append(append(text, b...), '\n')
			})
		}, "the journal was written by a newer version", "use the version that "},
		{"no plan", func(t *testing.T, dir string) {
			testkit.OK(t, os.Remove(filepath.Join(dir, "plan.json")))
		}, "session 'demo' has no plan.json", "start it again with " + failure.Option("force")},
		{"a broken plan", func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "plan.json"), func(text []byte) []byte { return text[:len(text)/2] })
		}, "/plan.json: unexpected end of JSON input", "restore the file"},
		{"a changed plan", func(t *testing.T, dir string) {
			rewriteFile(t, filepath.Join(dir, "plan.json"), func(text []byte) []byte { return bytes.Replace(text, []byte(`"max": 2`), []byte(`"max": 9`), 1) })
		}, "plan.json", "restore the file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, dir := pausedSession(t)
			tt.damage(t, dir)
			_, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})
			f := failure.From(err)
			if f == nil || f.Kind != failure.StateCorrupt && f.Kind != failure.Tampered || !strings.Contains(f.Message, tt.want) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("resume: %+v", f)
			}
			result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true})
			if restarted := err == nil && result.Success; restarted == strings.Contains(tt.want, "newer version") {
				t.Errorf("restart by force: %+v, %v", result, err)
			}
		})
	}
}

// U042, U047: a session whose kernel died can be resumed, but not paused, and not started again without Force.
func TestCrashedSession(t *testing.T) {
	e, dir := pausedSession(t)
	rewriteFile(t, filepath.Join(dir, "events.jsonl"), func(text []byte) []byte {
		end := bytes.Index(text, []byte(`"type":"iteration_start"`))
		return text[:end+bytes.IndexByte(text[end:], '\n')+1]
	})
	testkit.Must(e.Verify(t.Context(), "demo", true)) // a crash would have left no head behind these lines
	status, err := e.Status("demo")
	if err != nil || !status.Crashed || status.Status != state.Running || status.ResumeCommand == "" {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := e.PauseSession(t.Context(), "demo", "", ""); !errors.Is(err, engine.ErrNothingToResume) || !strings.Contains(failure.From(err).Hint, failure.Next("resume", "demo").String()) {
		t.Errorf("pause: %v", err)
	}
	if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); !errors.Is(err, engine.ErrResumable) || !strings.Contains(err.Error(), "crashed") {
		t.Errorf("run: %v", err)
	}
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
}

// A message that was journaled, but not removed from the inbox, is not applied again; an invalid inbox file is ignored.
func TestMessageIsAppliedOnce(t *testing.T) {
	root := project(t, twoStages)
	slow, working, let := blockingAgent()
	e, other := newEngine(t, root, slow), newEngine(t, root, agent{})
	asked, end := e.Subscribe(100), begin(t, e)
	defer asked.Close()
	<-working
	if err := other.PauseSession(t.Context(), "demo", "lunch", "ann"); err != nil {
		t.Error(err)
	}
	waitFor(asked, event.Control)
	close(let)
	result := end()
	if result.Status != state.Paused {
		t.Fatalf("%+v", result)
	}
	var id string
	err := other.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error {
		if ev.Type == event.Control {
			d, err := event.Decode[event.ControlData](ev)
			id = d.ID
			return err
		}
		return nil
	})
	if err != nil || id == "" {
		t.Fatalf("message %q, %v", id, err)
	}
	inbox := filepath.Join(result.Dir, "inbox")
	err = errors.Join(os.WriteFile(filepath.Join(inbox, id+".json"), []byte(`{"action":"pause","by":"ann"}`), 0o600),
		os.WriteFile(filepath.Join(inbox, "noise.json"), []byte(`[`), 0o600))
	testkit.OK(t, err)
	testkit.OK(t, completed(other.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
}

// A run that began in a damaged journal can be resumed: the damage belongs to an earlier run.
func TestDamageOfAnEarlierRun(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := false
	e := newEngine(t, project(t, twoStages), agent{work: func(ctx context.Context, _ sdk.ExecuteRequest) error {
		if stop {
			stop = false
			cancel(errors.New("stop"))
			<-ctx.Done()
		}
		return nil
	}})
	result := testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	journal := filepath.Join(result.Dir, "events.jsonl")
	text := testkit.Must(os.ReadFile(journal))
	text[len(text)/2] = '\n' // in the middle of a line
	testkit.OK(t, os.WriteFile(journal, text, 0o644))
	stop = true
	if result, err := e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo", Force: true}); err != nil || result.Status != state.Paused {
		t.Fatalf("run again: %+v, %v", result, err)
	}
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
}

// U047: a replay of the journal gives the last state of the second run, with the handled messages of the first run.
func TestReplayOfASecondRun(t *testing.T) {
	e := newEngine(t, project(t, twoStages), agent{work: func(context.Context, sdk.ExecuteRequest) error { return nil }})
	var live state.State
	var p *plan.Plan
	run := func(observe func(engine.Update)) {
		t.Helper()
		testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true, Observe: observe}))
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
	testkit.OK(t, e.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error { events = append(events, ev); return nil }))
	var replayed state.State
	for _, ev := range events {
		next := testkit.Must(progress.Apply(p, replayed, ev))
		replayed = next
	}
	if len(live.Handled) != 1 {
		t.Errorf("handled %v", live.Handled)
	}
	testkit.Equal(t, live, replayed)
}
