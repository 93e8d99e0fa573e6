package orphans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// patience is the limit of every wait for a condition.
const patience = 90 * time.Second

// programs is the directory of the command, the plugins and the tree.
type programs string

// build builds the programs into a directory of the test.
func build(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	packages := map[string]string{
		"agent-pipelines": "./cmd/agent-pipelines", "embedder": "./test/orphans/embedder", "agents/tree": "./test/orphans/tree",
		"plugins/agent-plugin-forker": "./test/orphans/forker",
	}
	for _, name := range []string{"agent", "claude", "hooks", "mock", "queue"} {
		packages["plugins/agent-plugin-"+name] = "./plugins/" + name
	}
	if err := e2ereal.BuildPrograms(dir, packages); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "agents/tree"), filepath.Join(dir, "agents/claude")); err != nil {
		t.Fatal(err)
	}
	return programs(dir)
}

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

// world is a project with its own home, in which one trial runs.
type world struct {
	t        *testing.T
	programs programs
	word     string
	base     string // HOME is in it
	project  string
	env      []string
}

func newWorld(t *testing.T, p programs, stub *stubmodel.Server, word string, kinds []string, pipeline string) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{t: t, programs: p, word: word, base: base, project: filepath.Join(base, "project")}
	w.env = []string{
		"PATH=" + p.path("agents") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "LANG=C.UTF-8", "TERM=dumb",
		"TREE=" + w.at("tree/tree"), "TREE_WORD=" + word, "TREE_DIR=" + w.at("tree"), "TREE_KINDS=" + strings.Join(kinds, ","),
		"AGENT_PIPELINES_EVENT_FLUSH_MS=20", "XDG_CACHE_HOME=" + p.path("cache"),
	}
	if err := errors.Join(os.MkdirAll(w.at("tree"), 0o755), os.Link(p.path("agents/tree"), w.at("tree/tree"))); err != nil { // a confined process may run the project's programs
		t.Fatal(err)
	}
	w.write(".claude/pipelines/one.yaml", pipeline)
	w.write("Makefile", ".PHONY: work\nwork:\n\t@\"$$TREE\" \"$$TREE_WORD\" \"$$TREE_DIR\" root \"$$TREE_KINDS\"\n")
	w.write("../home/.config/agent-pipelines/config.yaml", "providers: {agent: {config: {base_url: '"+stub.Base(word)+"', model: fake}}}\n")
	if err := stub.SetScript(word, stubmodel.Script{Turns: []stubmodel.Turn{
		{ToolCalls: []stubmodel.ToolCall{{Name: "run_terminal", Input: json.RawMessage(`{"command": "make work"}`)}}},
		{ToolCalls: []stubmodel.ToolCall{{Name: "finish", Input: json.RawMessage(`{"outcome": "success", "summary": "done"}`)}}},
	}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.clear)
	return w
}

func (w *world) at(name string) string { return filepath.Join(w.project, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(w.at(name)), 0o755), os.WriteFile(w.at(name), []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

// clear kills the processes that a trial left, so that a failed trial does not disturb the next one.
func (w *world) clear() {
	for range 20 {
		left := scan(w.word)
		if len(left) == 0 {
			return
		}
		for _, f := range left {
			_ = syscall.Kill(f.pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// kernel is a running process of the product, or of a program that embeds it.
type kernel struct {
	w     *world
	cmd   *exec.Cmd
	stdin io.Closer
	text  safeBuffer
	ended chan struct{}
	wait  sync.WaitGroup
}

// start starts a program of the product. The trial ends the program.
func (w *world) start(name string, args ...string) *kernel {
	w.t.Helper()
	k := &kernel{w: w, ended: make(chan struct{}), cmd: exec.Command(w.programs.path(name), args...)}
	k.cmd.Dir, k.cmd.Env, k.cmd.Stdout, k.cmd.Stderr = w.project, w.env, &k.text, &k.text
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as under a terminal or a service manager
	k.cmd.WaitDelay = time.Second
	stdin, err := k.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	k.stdin = stdin
	if err := k.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	k.wait.Go(func() {
		_ = k.cmd.Wait()
		close(k.ended)
	})
	return k
}

func (k *kernel) signal(s os.Signal) {
	k.w.t.Helper()
	if err := k.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		k.w.t.Fatal(err)
	}
}

// end waits for the end of the process and returns its exit code.
func (k *kernel) end() int {
	k.w.t.Helper()
	select {
	case <-k.ended:
	case <-time.After(patience):
		k.w.t.Fatalf("%s does not end\n%s", k.cmd, k.text.String())
	}
	k.wait.Wait()
	return k.cmd.ProcessState.ExitCode()
}

// run runs the command to its end and returns its exit code and output.
func (w *world) run(args ...string) (int, string) {
	w.t.Helper()
	k := w.start("agent-pipelines", args...)
	_ = k.stdin.Close()
	return k.end(), k.text.String()
}

// ready waits until the whole tree has started. The test fails if the kernel ends before.
func (w *world) ready(k *kernel) {
	w.t.Helper()
	w.await("the tree", k, func() bool {
		_, err := os.Stat(w.at("tree/ready"))
		return err == nil
	})
}

func (w *world) await(condition string, k *kernel, holds func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		select {
		case <-k.ended:
			w.t.Fatalf("%s: the kernel ended before: %s\n%s", condition, k.text.String(), strings.Join(w.events(), "\n"))
		default:
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s never comes: %s", condition, k.text.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// settled scans until keep returns no process in three successive scans, or until settleTime has passed. It returns
// the remaining processes.
func (w *world) settled(keep func([]process) []process) []process {
	for empty, until := 0, time.Now().Add(settleTime); ; {
		left := keep(scan(w.word))
		if len(left) > 0 {
			empty = 0
		} else if empty++; empty == 3 {
			return nil
		}
		if time.Now().After(until) {
			return left
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// settleTime is the time after which a killed process must not be found.
const settleTime = 10 * time.Second

// started returns the number of processes of the tree that have recorded that they stay.
func (w *world) started() int {
	text, _ := os.ReadFile(w.at("tree/tally"))
	return bytes.Count(text, []byte("\n"))
}

var pluginPID = regexp.MustCompile(`"type":"plugin_started".*?"pid":(\d+),"plugin":"[^"]*agent-plugin-([a-z]+)"`)

// plugin waits until the journal names a process id of a plugin, and returns the last one.
func (w *world) plugin(k *kernel, name string) int {
	w.t.Helper()
	var pid int
	w.await("plugin "+name, k, func() bool {
		for _, line := range w.events() {
			if m := pluginPID.FindStringSubmatch(line); len(m) == 3 && m[2] == name {
				pid, _ = strconv.Atoi(m[1])
			}
		}
		return pid != 0
	})
	return pid
}

// events returns the lines of the journals of all sessions.
func (w *world) events() []string {
	paths, _ := filepath.Glob(w.at(".claude/pipeline-runs/s*/events.jsonl"))
	var lines []string
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	return lines
}

// reported returns the process ids of survivors that the journal reports as ended.
func (w *world) reported() map[int]bool {
	w.t.Helper()
	ids := map[int]bool{}
	for _, line := range w.events() {
		if !strings.Contains(line, `"type":"survivor_ended"`) {
			continue
		}
		var e struct {
			Data struct {
				PID   int
				Ended bool
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("read the journal: %v\n%s", err, line)
		}
		if e.Data.Ended {
			ids[e.Data.PID] = true
		}
	}
	return ids
}

// safeBuffer is a buffer that is safe for concurrent use. A process writes it while its test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func describe(left []process) string {
	var words []string
	for _, f := range left {
		words = append(words, fmt.Sprintf("%s (%d)", f.kind, f.pid))
	}
	return strings.Join(words, ", ")
}
