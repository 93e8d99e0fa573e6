//go:build crashpoints

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
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

// staged has two stages: one fixed, one that a judge ends, so that attempts, decisions, questions
// and transitions are all there to be cut off.
const staged = `name: crash
defaults: {provider: mock}
nodes:
  - id: build
    prompt: "build ${RESULT}"
    runs: 2
    termination: {type: fixed, max: 2}
  - id: polish
    prompt: "polish ${RESULT}"
    inputs: {from: build}
    termination: {type: judgment, min_iterations: 1, consensus: 2, max: 4, judge: {provider: mock, model: m, prompt: judge.md}}
`

// block has two providers side by side with two stages each, and a stage that reads what they left.
const block = `name: crash
defaults: {provider: mock}
nodes:
  - id: both
    parallel:
      providers: [{name: mock, as: left}, {name: mock, as: right}]
      stages:
        - {id: draft, prompt: "draft ${RESULT}"}
        - {id: review, prompt: "review ${RESULT}", inputs: {from: draft}}
  - id: sum
    prompt: "sum ${RESULT}"
    inputs: {from_parallel: draft}
`

// repeated runs twice: two short stages, so that the runs and what lies between them are there to be cut off.
const repeated = `name: crash
defaults: {provider: mock}
nodes:
  - {id: write, prompt: "write ${RESULT}"}
  - {id: read, prompt: "read ${RESULT}", inputs: {from: write}}
`

const mock = `{"replies": [
  {"purpose": "question", "output": "{\"stop\": true, \"reason\": \"flat\", \"confidence\": 1}"},
  {"node": "build", "output": "built", "result": {"summary": "built"}, "progress": "",
   "tool_calls": [{"tool": "count", "gated": true, "effect": "idempotent", "count_file": "count.log", "result": {"ok": true}}]},
  {"node": "polish", "output": "polished", "result": {"summary": "polished"}}
]}`

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
	// runs is how often the pipeline runs.
	runs string
	// history is how many entries state.json has at the end.
	history int
}

func newWorld(t *testing.T, bin, pipeline string) world {
	t.Helper()
	w := world{t: t, bin: bin, root: t.TempDir(), runs: "1", history: map[string]int{staged: 4, block: 1, repeated: 4}[pipeline]}
	if pipeline == repeated {
		w.runs = "2"
	}
	for name, text := range map[string]string{".claude/pipelines/crash.yaml": pipeline, "mock.json": mock, "judge.md": "flat? ${ITERATION}"} {
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

func (w world) start(env ...string) (int, string) {
	return w.run(env, "pipeline", "crash", "s", w.runs, "--foreground")
}

// recover goes on after a crash, as a person would: resume, or start anew where nothing had begun.
func (w world) recover() {
	w.t.Helper()
	code, text := w.run(nil, "resume", "s")
	if code == 0 {
		return
	}
	if code == 15 { // it had finished
		return
	}
	if startCode, startText := w.start(); startCode != 0 {
		w.t.Fatalf("neither resume (%d) nor a new start (%d) worked:\n%s\n%s", code, startCode, text, startText)
	}
}

// outcome is what must be equal: the files without times and numbers of kernels, and the events
// without recovery, superseded attempts and what only informs.
type outcome struct {
	Files  map[string]string
	Events []string
}

var volatile = regexp.MustCompile(`"(ts|timestamp|started_at|ended_at|at|resumed_at|completed_at|created_at|compiled_at|iteration_started|run_id|plan_sha256|trace_id|span_id|parent_span_id)":\s*"[^"]*"|"(duration_ms|epoch|pid|event_seq|seq)":\s*\d+|PL-\d{14}-[0-9a-f]{8}`)

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
	case "events.jsonl", "events.jsonl.lock", "attempts.jsonl", "plan.json":
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
			w.t.Fatalf("line %q: %v", s.Text(), err)
		}
		_ = json.Unmarshal(e.Cursor, &cursor) // null for events of no place
		if slices.Contains(lasting, e.Type) {
			data := volatile.ReplaceAllString(strings.ReplaceAll(string(e.Data), w.root, "<ROOT>"), "~")
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
	"parallel_provider_start", "parallel_provider_complete",
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

// D2, U047: SIGKILL at every crash point.
func TestCrashAtEveryPoint(t *testing.T) {
	bin := build(t)
	for name, pipeline := range map[string]string{"stages": staged, "block": block, "repeated": repeated} {
		t.Run(name, func(t *testing.T) { crashAtEveryPoint(t, bin, pipeline) })
	}
}

func crashAtEveryPoint(t *testing.T, bin, pipeline string) {
	calm := newWorld(t, bin, pipeline)
	log := filepath.Join(t.TempDir(), "points")
	if code, text := calm.start("AGENT_PIPELINES_CRASH_LOG=" + log); code != 0 {
		t.Fatalf("undisturbed run: exit %d\n%s", code, text)
	}
	want := calm.outcome()
	calm.check(want)
	points := strings.Split(strings.TrimSpace(content(t, log)), "\n")
	t.Logf("%d crash points", len(points))
	if len(points) < 50 {
		t.Fatalf("only %d crash points: %q", len(points), points)
	}
	for i, point := range points {
		t.Run(strings.ReplaceAll(point, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bin, pipeline)
			if code, text := w.start(fmt.Sprintf("AGENT_PIPELINES_CRASH_AT=%d", i+1)); code != -1 && code != 0 {
				t.Fatalf("exit %d instead of a crash\n%s", code, text)
			}
			w.recover()
			w.check(want)
		})
	}
}

// D2: blind kills at random moments, several in one run.
func TestCrashAtRandom(t *testing.T) {
	bin := build(t)
	for name, pipeline := range map[string]string{"stages": staged, "block": block, "repeated": repeated} {
		t.Run(name, func(t *testing.T) { crashAtRandom(t, bin, pipeline) })
	}
}

func crashAtRandom(t *testing.T, bin, pipeline string) {
	calm := newWorld(t, bin, pipeline)
	began := time.Now()
	if code, text := calm.start(); code != 0 {
		t.Fatalf("undisturbed run: exit %d\n%s", code, text)
	}
	takes, want := time.Since(began), calm.outcome()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(i), 7)) // repeatable
			w := newWorld(t, bin, pipeline)
			w.killAfter(time.Duration(random.Int64N(int64(takes))), "pipeline", "crash", "s", w.runs, "--foreground")
			w.killAfter(time.Duration(random.Int64N(int64(takes))), "resume", "s")
			w.recover()
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
