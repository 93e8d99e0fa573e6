package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const damageable = `name: two
defaults: {provider: agent}
nodes:
  - {id: a, prompt: a, runs: 3}
  - {id: b, prompt: b, runs: 2}
  - {id: c, prompt: c, runs: 3}
`

// savedSession holds the files of a session that was stopped at an iteration.
type savedSession struct {
	root    string
	files   map[string][]byte
	journal [][]byte // lines
}

// stopSessionAt runs a session and stops it at an iteration. With die it saves the files before the stop, else after
// the stop.
func stopSessionAt(t *testing.T, node string, iteration int, die bool) *savedSession {
	t.Helper()
	return stopRunAt(t, 1, node, iteration, die)
}

// stopRunAt stops a session as stopSessionAt does, in the run with the number run. If run is above 1, the session has
// run+1 runs.
func stopRunAt(t *testing.T, run int, node string, iteration int, die bool) *savedSession {
	t.Helper()
	w := &savedSession{root: project(t, damageable), files: map[string][]byte{}}
	runs, met := 0, 0
	if run > 1 {
		runs = run + 1
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	e := newEngine(t, w.root, agent{work: func(ctx context.Context, req sdk.ExecuteRequest) error {
		if req.Node != node || req.Iteration != iteration {
			return nil
		}
		if met++; met == run {
			if die {
				w.save(t)
			}
			cancel(errors.New("stop"))
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}})
	if _, err := e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo", Runs: runs}); err != nil {
		t.Fatal(err)
	}
	if !die {
		w.save(t)
	}
	return w
}

func (w *savedSession) dir() string { return filepath.Join(w.root, ".claude/pipeline-runs/demo") }

// save reads the files of the session.
func (w *savedSession) save(t *testing.T) {
	for _, name := range []string{"events.jsonl", "state.json", "plan.json"} {
		text, err := os.ReadFile(filepath.Join(w.dir(), name))
		if err != nil {
			t.Error(err)
		}
		w.files[name] = text
	}
	w.journal = splitLines(w.files["events.jsonl"])
}

// restore writes plan.json, a journal and, if state is set, state.json. It removes journals that a repair has replaced.
func (w *savedSession) restore(journal []byte, state bool) error {
	err := os.WriteFile(filepath.Join(w.dir(), "state.json"), w.files["state.json"], 0o644)
	if !state {
		err = errors.Join(err, os.Remove(filepath.Join(w.dir(), "state.json")))
	}
	old, globErr := filepath.Glob(filepath.Join(w.dir(), "*.damaged-*"))
	for _, name := range old {
		err = errors.Join(err, os.Remove(name))
	}
	return errors.Join(err, globErr, os.WriteFile(filepath.Join(w.dir(), "events.jsonl"), journal, 0o644),
		os.WriteFile(filepath.Join(w.dir(), "plan.json"), w.files["plan.json"], 0o644))
}

// completedIterations returns the completed iterations in the journal, by position.
func (w *savedSession) completedIterations(t *testing.T) map[string]bool {
	done := map[string]bool{}
	for _, line := range w.journal {
		e, err := event.ParseLine(line)
		testkit.OK(t, err)
		if e.Type == event.IterationComplete {
			done[fmt.Sprintf("%s/%d", e.Cursor.NodePath, e.Cursor.Iteration)] = true
		}
	}
	return done
}

// damage damages a journal as a disk or an editor might.
func damage(t *rapid.T, journal [][]byte) []byte {
	l := make([][]byte, 0, len(journal)+4)
	for _, line := range journal {
		l = append(l, bytes.Clone(line))
	}
	for range rapid.IntRange(1, 3).Draw(t, "wounds") {
		if len(l) == 0 {
			break
		}
		i := rapid.IntRange(0, len(l)-1).Draw(t, "line")
		switch rapid.SampledFrom([]string{"delete", "delete many", "duplicate", "garbage", "foreign", "cut line", "nul", "truncate", "swap"}).Draw(t, "wound") {
		case "delete":
			l = append(l[:i], l[i+1:]...)
		case "delete many":
			n := min(len(l)-i, rapid.IntRange(1, 12).Draw(t, "many"))
			l = append(l[:i], l[i+n:]...)
		case "duplicate":
			j := rapid.IntRange(0, len(l)).Draw(t, "to")
			l = append(l[:j], append([][]byte{bytes.Clone(l[i])}, l[j:]...)...)
		case "garbage":
			text := rapid.SampledFrom([]string{"}{", "null", "[]", `{"type":5}`, "\xff\xfe", `{"ts":"x","type":"iteration_complete"}`}).Draw(t, "garbage")
			l = append(l[:i], append([][]byte{[]byte(text)}, l[i:]...)...)
		case "foreign":
			l[i] = bytes.Replace(l[i], []byte(`"session":"demo"`), []byte(`"session":"other"`), 1)
		case "cut line":
			l[i] = l[i][:rapid.IntRange(0, len(l[i])).Draw(t, "cut")]
		case "nul":
			l[i] = make([]byte, len(l[i]))
		case "truncate":
			l = l[:i]
		case "swap":
			j := rapid.IntRange(0, len(l)-1).Draw(t, "with")
			l[i], l[j] = l[j], l[i]
		}
	}
	text := bytes.Join(l, []byte("\n"))
	if rapid.Bool().Draw(t, "newline") {
		text = append(text, '\n')
	}
	return text
}

// U048, U047: after any damage a repair omits no work, and repeats completed iterations only with a reported doubt. A
// journal without its end and without state.json is the exception. With state.json every repair succeeds.
func TestAnyDamage(t *testing.T) {
	for name, w := range map[string]*savedSession{
		"paused": stopSessionAt(t, "c", 2, false), "crashed": stopSessionAt(t, "b", 2, true), "crashed early": stopSessionAt(t, "a", 1, true),
		"paused in the second run": stopRunAt(t, 2, "b", 1, false), "crashed in the second run": stopRunAt(t, 2, "a", 2, true),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, w.root, agent{})
			testkit.OK(t, w.restore(w.files["events.jsonl"], true))
			testkit.Must(e.Verify(t.Context(), "demo", true))
			truth, err := e.Repair(t.Context(), engine.RepairOptions{Session: "demo", DryRun: true})
			if err != nil || !truth.Intact {
				t.Fatalf("%+v, %v", truth, err)
			}
			rapid.Check(t, func(t *rapid.T) {
				withState := rapid.Bool().Draw(t, "state.json")
				journal := damage(t, w.journal)
				if err := w.restore(journal, withState); err != nil {
					t.Fatal(err)
				}
				testkit.Must(e.Verify(context.Background(), "demo", true)) // otherwise a repair of readable lines is refused
				r, err := e.Repair(t.Context(), engine.RepairOptions{Session: "demo", DryRun: true})
				if err != nil {
					if f := failure.From(err); withState || f.Hint == "" || f.Kind != failure.StateCorrupt && f.Kind != failure.SessionState {
						t.Fatalf("repair: %v, %+v\n%s", err, f, journal)
					}
					return
				}
				recovered, original := position(r), position(truth)
				again := slices.Compare(recovered, original) < 0
				if again && r.Doubt == "" && (withState || !tailLost(w.journal, journal)) {
					t.Fatalf("it would continue at %s instead of %s: %+v\n%s", recovered, original, r, journal)
				}
				if slices.Compare(recovered, original) > 0 {
					t.Fatalf("it would leave out work: %+v\n%s", r, journal)
				}
			})
		})
	}
}

// position returns the place where a session continues, in a form that can be compared.
func position(r *engine.Repair) []string {
	return []string{fmt.Sprint(r.Run), r.Node, fmt.Sprint(r.Iteration)}
}

// U048, U067: if nearly a whole run is missing from a journal, its remaining events are not mistaken for events of the
// run before.
func TestMissingRun(t *testing.T) {
	w := stopRunAt(t, 2, "b", 1, true)
	at := func(node string, kind event.Type, run int) int {
		return slices.IndexFunc(w.journal, func(line []byte) bool {
			e, err := event.ParseLine(line)
			return err == nil && e.Type == kind && e.Cursor.NodePath == node && e.Cursor.Run == run
		})
	}
	before, after := at("0", event.NodeComplete, 0), at("1", event.NodeStart, 2)
	if before < 0 || after < before {
		t.Fatalf("lines %d and %d of %d", before, after, len(w.journal))
	}
	left := append(bytes.Join([][]byte{bytes.Join(w.journal[:before+1], []byte("\n")), w.journal[after]}, []byte("\n")), '\n')
	testkit.OK(t, w.restore(left, false))
	r, err := newEngine(t, w.root, agent{}).Repair(t.Context(), engine.RepairOptions{Session: "demo", DryRun: true})
	testkit.OK(t, err)
	if r.Doubt == "" || r.Run != 2 || r.Runs != 3 || r.Node != "1" || r.Iteration != 1 {
		t.Errorf("it would continue at %q: %+v", position(r), r)
	}
}

// tailLost reports whether a damaged journal lacks the last event. The remaining lines do not show this loss.
func tailLost(journal [][]byte, damaged []byte) bool {
	var last int64
	for _, line := range splitLines(damaged) {
		if e, err := event.ParseLine(line); err == nil && e.Session == "demo" {
			last = max(last, e.Seq)
		}
	}
	return last < int64(len(journal))
}

// U048, U326: a damaged session completes with a resume after the user has accepted its journal. If no place to continue is
// certain, the hint names the repair that helps.
func TestDamagedSessionContinues(t *testing.T) {
	w := stopSessionAt(t, "c", 2, false)
	finished := w.completedIterations(t)
	var repeated []string
	e := newEngine(t, w.root, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if place := fmt.Sprintf("%d/%d", strings.Index("abc", req.Node), req.Iteration); finished[place] {
			repeated = append(repeated, place)
		}
		return nil
	}})
	drop := func(from, n int) func([][]byte) []byte {
		return func(l [][]byte) []byte {
			return append(bytes.Join(append(l[:from:from], l[from+n:]...), []byte("\n")), '\n')
		}
	}
	for _, tt := range []struct {
		name    string
		change  func([][]byte) []byte
		noState bool
		doubt   string
	}{
		{"a line is lost", drop(4, 1), true, ""},
		{"an iteration is lost", drop(4, 3), true, ""},
		{"a transition and more are lost", drop(8, 9), true, "are missing"},
		{"the same, with state.json", drop(8, 9), false, ""},
		{"the beginning is lost", drop(0, 5), true, "are missing"},
		{"the same, with state.json", drop(0, 5), false, ""},
		{"the end is lost", func(l [][]byte) []byte { return drop(len(l)-6, 6)(l) }, false, ""},
		{"everything is lost", func([][]byte) []byte { return nil }, false, ""},
		{"the last line is unreadable", func(l [][]byte) []byte {
			return append(bytes.Join(append(l[:len(l)-1:len(l)-1], []byte("\x00\x00")), []byte("\n")), '\n')
		}, true, "cannot be read"},
		{"the last line is torn", func(l [][]byte) []byte { return append(bytes.Join(l, []byte("\n")), "\n{\"ts\":"...) }, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			repeated = nil
			testkit.OK(t, w.restore(tt.change(w.journal), !tt.noState))
			result, err := e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})
			if tt.doubt != "" {
				f := failure.From(err)
				if f == nil || f.Kind != failure.StateCorrupt || !strings.Contains(f.Message, tt.doubt) || !strings.Contains(f.Hint, failure.Next("repair", "demo").String()) {
					t.Fatalf("resume: %+v, %v", result, err)
				}
				r, err := e.Repair(t.Context(), engine.RepairOptions{Session: "demo"})
				if err != nil || r.Doubt == "" || r.OldJournal == "" || r.ResumeCommand == "" {
					t.Fatalf("repair: %+v, %v", r, err)
				}
				result, err = e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})
				if err != nil || !result.Success {
					t.Fatalf("resume after the repair: %+v, %v", result, err)
				}
			} else {
				if failure.KindOf(err) != failure.Tampered || !strings.Contains(failure.From(err).Hint, failure.Next("session verify", "demo", "--accept").String()) {
					t.Fatalf("resume of a damaged journal: %+v, %v", result, err)
				}
				testkit.Must(e.Verify(t.Context(), "demo", true))
				if result, err = e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil || !result.Success {
					t.Fatalf("resume: %+v, %v", result, err)
				}
			}
			if len(repeated) > 0 {
				t.Errorf("made again: %v", repeated)
			}
		})
	}
}

// After a change of any byte in the journal or in state.json, a resume can begin or fails with a hint.
func TestFlippedByte(t *testing.T) {
	w := stopSessionAt(t, "b", 2, true)
	e := newEngine(t, w.root, agent{})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"events.jsonl", "events.jsonl", "state.json", "plan.json"}).Draw(t, "file")
		text := bytes.Clone(w.files[name])
		text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		if err := w.restore(w.files["events.jsonl"], true); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir(), name), text, 0o644); err != nil {
			t.Fatal(err)
		}
		_ = testkit.Error(e.Verify(t.Context(), "demo", true)) // fails for a journal that cannot be read
		_, err := e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"})
		if f := failure.From(err); err != nil && (f.Hint == "" || f.Kind != failure.StateCorrupt && f.Kind != failure.Tampered) && name != "plan.json" {
			t.Fatalf("resume: %v, %+v", err, f)
		}
		if _, err := e.Status("demo"); err != nil && failure.KindOf(err) != failure.StateCorrupt {
			t.Fatalf("status: %v", err)
		}
	})
}

// D04: damage before the end of an ended session does not matter.
func TestDamageOfFinishedSession(t *testing.T) {
	root := project(t, damageable)
	e := newEngine(t, root, agent{})
	result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	testkit.OK(t, err)
	rewriteFile(t, filepath.Join(result.Dir, "events.jsonl"), func(text []byte) []byte {
		l := splitLines(text)
		return append(bytes.Join(append(l[:3:3], l[9:]...), []byte("\n")), '\n')
	})
	rewriteFile(t, filepath.Join(result.Dir, "plan.json"), func([]byte) []byte { return []byte("{}") })
	wantError(t, testkit.Error(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})), engine.ErrTerminal)
}
