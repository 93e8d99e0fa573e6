package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
)

var every = flag.Bool("faults.every", false, "try every place of each kind, not a few")

const (
	inside   = "FAULTS_INSIDE" // set in the namespaces
	limit    = "FAULTS_NOFILE" // number of descriptors: this program limits them and executes another one
	patience = 2 * time.Minute // only ends a broken test
)

// bin is the directory of the built programs.
var bin string

// TestMain runs the tests in a user and a mount namespace, so that they can mount file systems.
func TestMain(m *testing.M) {
	if n := os.Getenv(limit); n != "" {
		os.Exit(limited(n))
	}
	if os.Getenv(inside) == "" {
		os.Exit(enter())
	}
	flag.Parse()
	os.Exit(testMain(m))
}

func enter() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	default:
		fmt.Fprintf(os.Stderr, "these tests mount file systems and need user namespaces (root, or sysctl kernel.unprivileged_userns_clone=1): %v\n", err)
		return 1
	}
}

// limited limits the number of descriptors to n and executes the program that the arguments name. It returns only
// after an error.
func limited(n string) int {
	most, err := strconv.ParseUint(n, 10, 32)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most})
	}
	if err == nil {
		err = syscall.Exec(os.Args[1], os.Args[1:], slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, limit+"=") }))
	}
	fmt.Fprintln(os.Stderr, err)
	return 125
}

func testMain(m *testing.M) int {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Fprintln(os.Stderr, "make mounts private:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "ap-faults-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := e2ereal.BuildPrograms(dir, map[string]string{"agent-pipelines": "./cmd/agent-pipelines", "plugins/agent-plugin-mock": "./plugins/mock"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// world is a project with its own HOME.
type world struct {
	t    *testing.T
	root string
}

// pipeline has five iterations in two nodes.
const pipeline = `name: p
defaults: {provider: mock}
nodes:
  - {id: a, prompt: "a ${RESULT}", delay: %g, termination: {type: fixed, max: 3}}
  - {id: b, prompt: "b ${RESULT}", delay: 0, inputs: {from: a}, termination: {type: fixed, max: 2}}
`

// calm are the replies of an agent without faults.
const calm = `{"replies": [{"output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`

// slow are the replies of an agent that hangs in its second iteration and has a child process.
const slow = `{"replies": [{"node": "a", "iteration": 2, "hang": true, "spawn": {"kind": "plain", "seconds": 600, "pid_file": "child"}},
 {"output": "${NODE} ${ITERATION}", "result": {"summary": "${NODE} ${ITERATION}"}}]}`

func newWorld(t *testing.T, replies string) world {
	t.Helper()
	w := world{t, t.TempDir()}
	w.write(".claude/pipelines/p.yaml", fmt.Sprintf(pipeline, 0.0))
	w.write("mock.json", replies)
	w.mkdir(runs)
	w.mkdir("home")
	t.Cleanup(w.endAll)
	return w
}

const (
	runs    = ".claude/pipeline-runs"
	session = runs + "/s"
	journal = session + "/events.jsonl"
)

func (w world) path(name string) string { return filepath.Join(w.root, name) }

func (w world) write(name, text string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(name))
	w.check(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w world) mkdir(name string) {
	w.t.Helper()
	w.check(os.MkdirAll(w.path(name), 0o755))
}

func (w world) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	w.check(err)
	return string(b)
}

func (w world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// mount mounts a tmpfs of the size until the end of the test.
func (w world) mount(name, size string) {
	w.t.Helper()
	w.mkdir(name)
	w.check(syscall.Mount("tmpfs", w.path(name), "tmpfs", 0, "size="+size))
	w.t.Cleanup(func() { _ = syscall.Unmount(w.path(name), syscall.MNT_DETACH) })
}

// readOnly makes a directory read-only until the end of the test.
func (w world) readOnly(name string) {
	w.t.Helper()
	dir := w.path(name)
	w.check(syscall.Mount(dir, dir, "", syscall.MS_BIND, ""))
	w.t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	w.check(syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

func (w world) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "agent-pipelines"), args...)
	cmd.Dir = w.root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("home"), "LANG=C.UTF-8", "TERM=dumb", "TZ=UTC", "MOCK_CONFIG=mock.json", "GOGC=400"} // short processes: collect rarely
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs the command and returns its exit code and output.
func (w world) run(args ...string) (int, string) {
	w.t.Helper()
	return w.finish(w.command(args...))
}

func (w world) finish(cmd *exec.Cmd) (int, string) {
	w.t.Helper()
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	for _, bad := range []string{"\npanic: ", "\ngoroutine ", "\nfatal error: "} { // of the kernel: lines of plugins begin with the time
		if bytes.Contains(append([]byte("\n"), text...), []byte(bad)) {
			w.t.Errorf("%s:\n%s", cmd, text)
		}
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func start() []string { return []string{"pipeline", "p", "s", "--foreground", "--quiet"} }

// must runs the command and checks that it ends with the code and that its output has all texts. It returns the output.
func (w world) must(code int, texts []string, args ...string) string {
	w.t.Helper()
	got, output := w.run(args...)
	w.checkOutput(got, output, code, texts...)
	return output
}

func (w world) checkOutput(got int, output string, code int, texts ...string) {
	w.t.Helper()
	if got != code {
		w.t.Errorf("exit %d, want %d:\n%s", got, code, output)
	}
	for _, text := range texts {
		if !strings.Contains(output, text) {
			w.t.Errorf("%q is not in:\n%s", text, output)
		}
	}
}

// under is a running command.
type under struct {
	cmd    *exec.Cmd
	output *bytes.Buffer
}

// begin starts the command and waits until the agent has a child.
func (w world) begin(args ...string) under {
	w.t.Helper()
	output := &bytes.Buffer{}
	u := w.beginTo(output, args...)
	u.output = output
	return u
}

// beginTo is begin with a writer for the command's output.
func (w world) beginTo(to io.Writer, args ...string) under {
	w.t.Helper()
	u := under{cmd: w.command(args...)}
	u.cmd.Stdout, u.cmd.Stderr = to, to
	w.check(u.cmd.Start())
	w.await("the agent's child", func() bool {
		info, err := os.Stat(w.path("child"))
		return err == nil && info.Size() > 0
	})
	return u
}

// killed starts the command, and kills it when the agent has a child.
func (w world) killed(args ...string) {
	w.t.Helper()
	u := w.begin(args...)
	w.check(u.cmd.Process.Kill())
	u.end()
	w.nothingLeft()
}

// completes resumes the session, or starts it if it never began, and checks that it is complete.
func (w world) completes() {
	w.t.Helper()
	code, output := w.run("resume", "s", "--quiet")
	if code == 14 {
		code, output = w.run(start()...)
	}
	w.checkOutput(code, output, 0)
	w.complete()
}

// interrupt sends SIGINT to the command every second until stop is called. After the second one the command does not
// let the agent finish.
func (u under) interrupt() (stop func()) {
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			_ = u.cmd.Process.Signal(os.Interrupt) // unless it has ended
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() { close(ended); wg.Wait() }
}

func (u under) end() (int, string) {
	_ = u.cmd.Wait() // the exit code is returned
	return u.cmd.ProcessState.ExitCode(), u.output.String()
}

func (w world) await(condition string, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s", condition)
		}
	}
}

// nothingLeft waits until no process of the project is left. Orphans of a killed kernel end without a signal of the
// test.
func (w world) nothingLeft() {
	w.t.Helper()
	w.await("the end of all processes", func() bool {
		left, err := e2ereal.Processes(w.root)
		return err == nil && len(left) == 0
	})
}

// endAll kills the processes that a failed test has left.
func (w world) endAll() {
	left, _ := e2ereal.Processes(w.root)
	for _, line := range left {
		pid, _, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// line is the part of a journal's line that tests inspect.
type line struct {
	Seq       int64
	Type, Key string
	Timestamp time.Time
}

func (w world) lines() []line {
	w.t.Helper()
	text := w.read(journal)
	if text != "" && !strings.HasSuffix(text, "\n") {
		w.t.Errorf("the journal ends in a torn line: %q", text[max(0, len(text)-80):])
	}
	var all []line
	for _, raw := range strings.Split(text, "\n") {
		var l line
		if json.Unmarshal([]byte(raw), &l) == nil && l.Type != "" {
			all = append(all, l)
		}
	}
	return all
}

// complete checks that the session is complete, with each iteration once and the files of an undisturbed run.
func (w world) complete() {
	w.t.Helper()
	done := map[string]int{}
	for _, l := range w.lines() {
		switch l.Type {
		case "iteration_complete":
			key, _, _ := strings.Cut(l.Key, "#")
			done[key]++
		case "session_complete":
			done["session"]++
		}
	}
	for key, n := range done {
		if n != 1 {
			w.t.Errorf("%s is complete %d times", key, n)
		}
	}
	if len(done) != 6 {
		w.t.Errorf("complete: %v, want 5 iterations and the session", done)
	}
	w.files()
	w.nothingLeft()
}

// files checks that outputs and results of all iterations are as in an undisturbed run, and that no temporary file is
// left.
func (w world) files() {
	w.t.Helper()
	for node, n := range map[string]int{"a": 3, "b": 2} {
		for i := 1; i <= n; i++ {
			dir := fmt.Sprintf("%s/stage-%02d-%s/iterations/%03d/", session, node[0]-'a', node, i)
			want := fmt.Sprintf("%s %d", node, i)
			if got := strings.TrimSpace(w.read(dir + "output.md")); got != want {
				w.t.Errorf("%s: output %q, want %q", dir, got, want)
			}
			if got := w.read(dir + "result.json"); !strings.Contains(got, `"`+want+`"`) {
				w.t.Errorf("%s: result %s", dir, got)
			}
		}
	}
	w.check(filepath.WalkDir(w.path(session), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".tmp-") {
			w.t.Errorf("left: %s", path)
		}
		return err
	}))
}
