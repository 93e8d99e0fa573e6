//go:build crashpoints

package crash

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
)

// program holds the path of the command with crash points, next to its plugins, and of a cache that all worlds share.
type program struct{ bin, cache string }

// bin avoids a build in each of several runs that share the matrix.
var bin = flag.String("crash.bin", "", "a directory with the command and plugins/, built with the tag crashpoints; default: they are built")

// built builds the programs once for all tests and returns their directory.
var built = sync.OnceValues(func() (string, error) {
	if *bin != "" {
		return *bin, nil
	}
	dir, err := os.MkdirTemp("", "crash-")
	if err != nil {
		return "", err
	}
	return dir, e2ereal.BuildPrograms(dir, map[string]string{
		"agent-pipelines": "./cmd/agent-pipelines", "plugins/agent-plugin-mock": "./plugins/mock",
		"plugins/agent-plugin-judge": "./plugins/judge", "plugins/agent-plugin-queue": "./plugins/queue", "plugins/agent-plugin-hooks": "./plugins/hooks",
	}, "-ldflags=-s -w", "-tags", "crashpoints")
})

func build(t *testing.T) program {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return program{bin: filepath.Join(dir, "agent-pipelines"), cache: filepath.Join(dir, "cache")}
}

// world is a project with its own HOME, in which a subject is run.
type world struct {
	t    testing.TB
	root string
	program
	subject

	// cuts counts the kills during a call of a tool, by key and id of the call. Each kill allows one more effect of the
	// call.
	cuts map[string]int
	// falls is the number of kills.
	falls int
	// pluginKilled is true if only plugins were killed. The kernel then repeats the attempt under the next number.
	pluginKilled bool
	// resumed is true if a resume ended before its kill, so that a stop that the pipeline declares is over.
	resumed bool
}

func newWorld(t testing.TB, p program, subj subject) *world {
	t.Helper()
	w := &world{t: t, program: p, root: t.TempDir(), subject: subj, cuts: map[string]int{}}
	files := map[string]string{
		".claude/pipelines/crash.yaml": subj.pipeline, ".claude/pipelines/inner.yaml": inner, "mock.json": mock, "judge.md": "flat? ${ITERATION}",
		".claude/stages/tick/stage.yaml": "name: tick\nprovider: mock\ndelay: 0\n", ".claude/stages/tick/prompt.md": "tick ${RESULT}",
	}
	for name, text := range files {
		path := filepath.Join(w.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// dir returns the session's directory.
func (w *world) dir() string { return filepath.Join(w.root, ".claude/pipeline-runs/s") }

// run runs the command with crash settings and returns its exit code, -1 if a signal ended it. Questions are answered
// meanwhile, if the subject has a user.
func (w *world) run(env []string, args ...string) (int, string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	if w.person {
		var person sync.WaitGroup
		watching, done := context.WithCancel(ctx)
		person.Go(func() { w.answer(watching) })
		defer person.Wait()
		defer done()
	}
	cmd := w.command(ctx, env, args...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
	}
	if ctx.Err() != nil {
		w.t.Fatalf("%s did not end\n%s", strings.Join(args, " "), text)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func (w *world) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Dir = w.root
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.root, "home"), "XDG_CACHE_HOME=" + w.cache, "TMPDIR=" + os.TempDir(),
		"LANG=C.UTF-8", "TERM=dumb", "USER=anna", "MOCK_MODE=true", "MOCK_CONFIG=mock.json",
	}, slices.Concat(w.env, env)...)
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// answer approves every question while the kernel runs, like a user. It repeats an answer only after 2 s, when the
// first one counts as lost in a crash. An earlier second answer could stay in the inbox at the end of the run.
func (w *world) answer(ctx context.Context) {
	const patience = 2 * time.Second
	approved := map[string]time.Time{} // by question
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		open, _ := filepath.Glob(filepath.Join(w.dir(), "questions", "*.json"))
		for _, file := range open {
			b, err := os.ReadFile(file)
			if asked := string(b); err == nil && strings.Contains(asked, `"status": "open"`) && time.Since(approved[asked]) > patience {
				if w.command(ctx, nil, "approve", "s").Run() == nil { // after an error the question may stay open: try again
					approved[asked] = time.Now()
				}
			}
		}
	}
}

// step runs the i-th command of the subject.
func (w *world) step(i int, env ...string) (int, string) { return w.run(env, w.way[i].args...) }

// to runs the commands before the i-th.
func (w *world) to(i int) {
	w.t.Helper()
	for before := range i {
		if code, text := w.step(before); code != w.way[before].code {
			w.t.Fatalf("%s: exit %d\n%s", strings.Join(w.way[before].args, " "), code, text)
		}
	}
}

// Exit codes of commands that are run again after a kill.
const (
	exitFailed   = 1
	exitNothing  = 14
	exitEnded    = 15
	exitAnyPause = 22
)

// recover repeats the i-th command after a kill, like a user. A session is resumed, or started again if nothing had
// begun; a finished command is refused. If the kill cut off an attempt, the resume fails or asks whether to repeat the
// attempt, where the pipeline requires that.
func (w *world) recover(i int) {
	w.t.Helper()
	done := func(code int) bool { return code == w.way[i].code || code == exitEnded || code == exitNothing && i > 0 }
	if w.waits(i) {
		return
	}
	if i > 0 && w.way[i].args[0] != "resume" { // a step without a session is repeated before a resume
		if code, _ := w.step(i); done(code) {
			return
		}
	}
	cut := w.cut()
	code, text := w.resume()
	if cut && w.falls == 1 && !w.resumed && w.recovery != "" && !w.declared(i, code) {
		w.t.Errorf("recovery is %s, and the first resume ended with %d\n%s", w.recovery, code, text)
	}
	if w.declared(i, code) {
		code, text = w.resume()
	}
	if i > 0 && w.way[i].args[0] != "resume" {
		code, text = w.step(i)
	}
	if done(code) {
		return
	}
	if startCode, startText := w.step(0); i > 0 || startCode != w.way[0].code {
		w.t.Fatalf("neither again (%d) nor a new start (%d) worked:\n%s\n%s", code, startCode, text, startText)
	}
}

// declared reports whether a resume ended as the pipeline declares for a cut-off attempt: with a failure, or with a
// question to the user, also about a call that must not be repeated. The next resume is the answer.
func (w *world) declared(i, code int) bool {
	return code == exitFailed && w.recovery == "fail" || code == exitAnyPause && w.way[i].code != exitAnyPause
}

// waits reports whether the i-th command had reached its pause when it was killed. Then a resume would be an answer.
func (w *world) waits(i int) bool {
	w.t.Helper()
	paused := false
	for _, e := range w.journal() {
		paused = paused && e.Type != event.KernelStart && e.Type != event.SessionResumed || e.Type == event.SessionPaused
	}
	return i == 0 && len(w.way) > 1 && paused
}

// cut reports whether the journal ends in the middle of an attempt.
func (w *world) cut() bool {
	w.t.Helper()
	open := false
	for _, e := range w.journal() {
		switch e.Type {
		case event.IterationStart, event.AttemptStart:
			open = true
		case event.IterationComplete, event.AttemptComplete, event.Error:
			open = false
		}
	}
	return open
}

func (w *world) resume(env ...string) (int, string) {
	return w.run(env, append([]string{"resume", "s"}, w.flags...)...)
}

// walk runs the commands from the i-th.
func (w *world) walk(i int) {
	w.t.Helper()
	for ; i < len(w.way); i++ {
		code, text := w.step(i)
		if code != w.way[i].code && code != exitEnded { // a resume may have ended the session already
			w.t.Fatalf("%s: exit %d\n%s", strings.Join(w.way[i].args, " "), code, text)
		}
	}
}

// journal returns the events of the session's journal without lines that cannot be read, such as a cut-off one.
func (w *world) journal() []event.Event {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir(), "events.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	var all []event.Event
	for _, line := range strings.SplitAfter(string(text), "\n") {
		if e, err := event.ParseLine([]byte(strings.TrimSuffix(line, "\n"))); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// fell counts a kill, and notes which calls of tools it cut off.
func (w *world) fell(k kind) {
	w.t.Helper()
	if len(w.env) == 0 { // a defective kernel proves nothing about the right one
		killed.add(w.name, k)
	}
	w.falls++
	open := map[string]bool{}
	for _, e := range w.journal() {
		d, err := event.Decode[event.ToolResultData](e)
		if err != nil {
			continue
		}
		switch call := string(e.Key) + " " + d.CallID; e.Type {
		case event.ToolCall:
			open[call] = true
		case event.ToolResult:
			delete(open, call)
		}
	}
	for call := range open {
		w.cuts[call]++
	}
}

func (w *world) outcome() crashtest.Outcome {
	w.t.Helper()
	o, err := crashtest.Read(w.dir(), w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// differences returns all differences from an undisturbed run, and processes that are left. If writes were lost in a
// power failure, only differences that break a promise count.
func (w *world) differences(want crashtest.Outcome, lost bool) []string {
	w.t.Helper()
	var all []string
	for _, d := range want.Diff(w.outcome()) {
		if lost && !promised(d.Where) {
			continue
		}
		if w.person && d.Want == "" && strings.HasPrefix(d.Where, "inbox/") && !strings.HasPrefix(d.Where, "inbox/bad/") {
			continue // a second answer while the first was in transit; if an answer were lost, the run would not end
		}
		all = append(all, d.String())
	}
	if w.pluginKilled {
		all = exceptRetries(all)
	}
	if w.recovery == "fail" {
		all = slices.DeleteFunc(all, causedByFailure)
	}
	all = append(all, w.effects()...)
	b, err := os.ReadFile(filepath.Join(w.dir(), "state.json"))
	var s struct{ Status string }
	if err = errors.Join(err, json.Unmarshal(b, &s)); err != nil || s.Status != "completed" {
		all = append(all, "state.json: "+s.Status+", not completed")
	}
	if code, text := w.run(nil, "session", "verify", "s"); code != 0 { // a crash must not look like a change by another program
		all = append(all, "session verify: "+text)
	}
	left, err := e2ereal.Processes(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return append(all, left...)
}

// causedByFailure reports whether a difference follows from recovery fail: the node fails after a kill and its events
// say so, and a resume of a failed node repeats all of its calls.
func causedByFailure(diff string) bool {
	return strings.Contains(diff, ": unexpected: ") &&
		(strings.Contains(diff, string(failure.ProviderCrashed)) || strings.HasPrefix(diff, "events: tool_result "))
}

// effects returns the calls of the counting tool that had their effect too often. A call may have one effect, and one
// more for each kill during the call or repeat of its attempt.
func (w *world) effects() []string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.root, "count.log"))
	if err != nil && (w.calls > 0 || !errors.Is(err, os.ErrNotExist)) {
		w.t.Fatal(err)
	}
	made := map[string]int{}
	for line := range strings.Lines(string(text)) {
		call := strings.TrimSpace(line)
		if w.pluginKilled {
			call = number.ReplaceAllString(call, "")
		}
		made[call]++
	}
	var all []string
	if len(made) != w.calls {
		all = append(all, "count.log: "+strings.Join(slices.Sorted(maps.Keys(made)), ", "))
	}
	for call, n := range made {
		most := 1 + w.cuts[call]
		if w.recovery == "fail" || w.pluginKilled { // the node failed, or the kernel made the attempt again
			most = 1 + w.falls
		}
		if n > most {
			all = append(all, "count.log: "+call+" had its effect too often")
		}
	}
	return all
}

// kill kills the processes of the world whose command line contains the text, all for "". It reports whether it
// killed any.
func (w *world) kill(text string) (hit bool) {
	w.t.Helper()
	list, err := e2ereal.Processes(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range list {
		var pid int
		if number, command, _ := strings.Cut(line, " "); strings.Contains(command, text) {
			if err := json.Unmarshal([]byte(number), &pid); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				hit = true
			}
		}
	}
	return hit
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
