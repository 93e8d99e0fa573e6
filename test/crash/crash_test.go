//go:build crashpoints

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
)

// build makes the command with crash points and the plugins, once.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for out, pkg := range map[string]string{
		"agent-pipelines": "./cmd/agent-pipelines", "plugins/agent-plugin-mock": "./plugins/mock", "plugins/agent-plugin-judge": "./plugins/judge",
	} {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-tags", "crashpoints", "-o", filepath.Join(dir, out), pkg)
		cmd.Dir = root
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, text)
		}
	}
	return filepath.Join(dir, "agent-pipelines")
}

// world is a project with its own HOME.
type world struct {
	t    *testing.T
	bin  string
	root string
	subject
}

func newWorld(t *testing.T, bin string, of subject) world {
	t.Helper()
	w := world{t: t, bin: bin, root: t.TempDir(), subject: of}
	for name, text := range map[string]string{".claude/pipelines/crash.yaml": of.pipeline, "mock.json": mock, "judge.md": "flat? ${ITERATION}"} {
		path := filepath.Join(w.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run runs the command with crash settings and returns its exit code, -1 if a signal ended it.
func (w world) run(env []string, args ...string) (int, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := w.command(ctx, env, args...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func (w world) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Dir = w.root
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.root, "home"), "LANG=C.UTF-8", "TERM=dumb",
		"MOCK_MODE=true", "MOCK_CONFIG=mock.json",
	}, env...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// step does the i-th thing of the way.
func (w world) step(i int, env ...string) (int, string) { return w.run(env, w.way[i]...) }

// recover does the i-th thing again after a crash in it, as a person would: a session is resumed, or started anew where
// nothing had begun; what was done already is refused.
func (w world) recover(i int) {
	w.t.Helper()
	const ended, nothing = 15, 14
	code, text := w.run(nil, "resume", "s")
	if i > 0 && w.way[i][0] != "resume" {
		code, text = w.step(i)
	}
	if code == 0 || code == ended || code == nothing && i > 0 {
		return
	}
	if startCode, startText := w.step(0); i > 0 || startCode != 0 {
		w.t.Fatalf("neither again (%d) nor a new start (%d) worked:\n%s\n%s", code, startCode, text, startText)
	}
}

// walk goes the way from the i-th thing on.
func (w world) walk(i int) {
	w.t.Helper()
	for ; i < len(w.way); i++ {
		if code, text := w.step(i); code != 0 && code != 15 { // a resume may have ended it already
			w.t.Fatalf("%s: exit %d\n%s", strings.Join(w.way[i], " "), code, text)
		}
	}
}

// outcome is what must be equal: the files without times and numbers of kernels, and the events
// without recovery, superseded attempts and what only informs.
type outcome struct {
	Files  map[string]string
	Events []string
}

var volatile = regexp.MustCompile(`"(ts|timestamp|asked_at|answered_at|closed_at|control|started_at|ended_at|at|resumed_at|completed_at|created_at|compiled_at|iteration_started|run_id|plan_sha256|trace_id|span_id|parent_span_id)":\s*"[^"]*"|"(duration_ms|epoch|pid|event_seq|seq)":\s*\d+|(?m:^\s*(created_at|duration_seconds): .*$)|PL-\d{14}-[0-9a-f]{8}|REQ-\d{14}-\d{4}`)

// timed are references to files that say how long something took, or when: what they say is compared without that.
var timed = regexp.MustCompile(`("path":"[^"]*(?:checks/[^"]*\.json|artifacts/[^"]*\.yaml)"),"sha256":"[0-9a-f]+","size":\d+`)

func (w world) outcome() outcome {
	w.t.Helper()
	session := filepath.Join(w.root, ".claude/pipeline-runs/s")
	o := outcome{Files: map[string]string{}, Events: w.events(filepath.Join(session, "events.jsonl"))}
	err := filepath.WalkDir(session, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(session, path)
		if skipped(name) {
			return nil
		}
		b, err := os.ReadFile(path)
		o.Files[name] = volatile.ReplaceAllString(strings.ReplaceAll(string(b), w.root, "<ROOT>"), "~")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// skipped are files that tell of the way, not of the result.
func skipped(name string) bool {
	switch filepath.Base(name) {
	case "events.jsonl", "events.jsonl.lock", "attempts.jsonl", "plan.json", "metrics.json":
		return true
	}
	return name == "state.json" || strings.Contains(name, "/attempts/")
}

// events are the types, places and data of the live events. Those of providers that run side by side
// come one provider after the other: what they do has an order, how it is mixed has not.
func (w world) events(path string) []string {
	w.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	lines := map[string][]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var e struct {
			Type    string
			Key     string
			Attempt int
			Cursor  json.RawMessage
			Data    json.RawMessage
		}
		var cursor struct{ Provider string }
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			continue // the crash came in the middle of a line: readers leave it out
		}
		_ = json.Unmarshal(e.Cursor, &cursor) // null for events of no place
		if slices.Contains(lasting, e.Type) {
			data := volatile.ReplaceAllString(strings.ReplaceAll(string(e.Data), w.root, "<ROOT>"), "~")
			data = timed.ReplaceAllString(data, "$1")
			lines[cursor.Provider] = append(lines[cursor.Provider], fmt.Sprintf("%s %s %s %s", e.Type, e.Key, e.Cursor, data))
		}
	}
	var all []string
	for _, provider := range slices.Sorted(maps.Keys(lines)) {
		all = append(all, lines[provider]...)
	}
	return all
}

// lasting are the types of events that a run has once, however often it was cut off.
var lasting = []string{
	"iteration_complete", "decision", "strategy_answer", "node_start", "node_complete", "run_start", "session_start", "session_complete",
	"parallel_provider_start", "parallel_provider_complete", "hook_complete", "question_asked", "question_answered",
	"attempt_complete", "check_result", "steps_planned", "step_start", "step_complete",
}

func (w world) check(want outcome) {
	w.t.Helper()
	got := w.outcome()
	if diff := cmp.Diff(want.Events, got.Events); diff != "" {
		w.t.Errorf("events (undisturbed, resumed):\n%s", diff)
	}
	if diff := cmp.Diff(want.Files, got.Files); diff != "" {
		w.t.Errorf("files (undisturbed, resumed):\n%s", diff)
	}
	w.checkState()
	if left, err := e2ereal.Processes(w.root); err != nil || len(left) > 0 {
		w.t.Errorf("processes left: %v %v", left, err)
	}
}

func (w world) checkState() {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, ".claude/pipeline-runs/s/state.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var s struct {
		Status  string
		History []struct{ Stage, Summary string }
	}
	if err := json.Unmarshal(b, &s); err != nil || s.Status != "completed" || len(s.History) != w.history {
		w.t.Errorf("state.json: %+v, %v", s, err)
	}
}

// every: subjects with a stride are cut off at every point, too.
var every = flag.Bool("crash.every", false, "cut off long pipelines at every crash point")

// D2, U047: SIGKILL at every crash point of everything that is done; of a long pipeline, which comes to each kind of point
// many times, at every third.
func TestCrashAtEveryPoint(t *testing.T) {
	bin := build(t)
	for _, of := range subjects {
		t.Run(of.name, func(t *testing.T) { crashAtEveryPoint(t, bin, of) })
	}
}

func crashAtEveryPoint(t *testing.T, bin string, of subject) {
	calm := newWorld(t, bin, of)
	points := make([][]string, len(of.way))
	all := 0
	for i := range of.way {
		log := filepath.Join(t.TempDir(), "points")
		if code, text := calm.step(i, "AGENT_PIPELINES_CRASH_LOG="+log); code != 0 {
			t.Fatalf("undisturbed: exit %d\n%s", code, text)
		}
		points[i] = strings.Split(strings.TrimSpace(content(t, log)), "\n")
		all += len(points[i])
	}
	want := calm.outcome()
	calm.check(want)
	t.Logf("%d crash points", all)
	if all < 50 {
		t.Fatalf("only %d crash points: %q", all, points)
	}
	for i := range points {
		for n, point := range points[i] {
			if !*every && of.stride > 1 && n%of.stride != 0 {
				continue
			}
			t.Run(fmt.Sprint(of.way[i][0], "-", strings.ReplaceAll(point, " ", "-")), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, bin, of)
				for before := range i {
					if code, text := w.step(before); code != 0 {
						t.Fatalf("exit %d\n%s", code, text)
					}
				}
				if code, text := w.step(i, fmt.Sprintf("AGENT_PIPELINES_CRASH_AT=%d", n+1)); code != -1 && code != 0 {
					t.Fatalf("exit %d instead of a crash\n%s", code, text)
				}
				w.recover(i)
				w.walk(i + 1)
				w.check(want)
			})
		}
	}
}

// D2: blind kills at random moments, several in one run.
func TestCrashAtRandom(t *testing.T) {
	bin := build(t)
	for _, of := range subjects {
		t.Run(of.name, func(t *testing.T) { crashAtRandom(t, bin, of) })
	}
}

func crashAtRandom(t *testing.T, bin string, of subject) {
	calm := newWorld(t, bin, of)
	began := time.Now()
	calm.walk(0)
	takes, want := time.Since(began)/time.Duration(len(of.way)), calm.outcome()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(i), 7)) // repeatable
			w := newWorld(t, bin, of)
			w.killAfter(time.Duration(random.Int64N(int64(takes))), of.way[0]...)
			w.killAfter(time.Duration(random.Int64N(int64(takes))), "resume", "s")
			w.recover(0)
			w.walk(1)
			w.check(want)
		})
	}
}

// killAfter starts the command and kills it with SIGKILL after some time, if it still runs.
func (w world) killAfter(d time.Duration, args ...string) {
	w.t.Helper()
	cmd := w.command(w.t.Context(), nil, args...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(d, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	_ = cmd.Wait() // killed, or done before
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
