package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// openDir makes a project with one session.
func openDir(t *testing.T, session string) (*store.Project, *store.Dir) {
	t.Helper()
	p := must(store.OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	d := must(p.Create(session))
	t.Cleanup(func() { _ = d.Close() })
	return p, d
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Environment variables that turn the test binary into a process that takes session s, see starter.
const (
	projectVariable = "LOCK_TEST_PROJECT"
	forceVariable   = "LOCK_TEST_FORCE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(projectVariable); dir != "" {
		os.Exit(starter(dir, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// starter prints ready, waits for a line, takes the session, prints the result, and holds it until its input
// ends.
func starter(dir string, input io.Reader, output io.Writer) int {
	p, err := store.OpenProject(dir)
	if err != nil {
		fmt.Fprintln(output, err)
		return 1
	}
	in := bufio.NewReader(input)
	fmt.Fprintln(output, "ready")
	if _, err := in.ReadString('\n'); err != nil {
		return 0
	}
	l, err := store.AcquireLock(p, "s", store.LockOptions{Marker: "m", Force: os.Getenv(forceVariable) != ""})
	if err != nil {
		fmt.Fprintln(output, "refused:", err)
		return 0
	}
	fmt.Fprintln(output, "holds:", l.Warning())
	_, _ = io.Copy(io.Discard, in)
	if err := l.Release(); err != nil {
		fmt.Fprintln(output, err)
		return 1
	}
	return 0
}

// child is a starter process. It ends with the test at the latest.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newChild(t *testing.T, p *store.Project, env ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])}
	c.cmd.Env = append(os.Environ(), projectVariable+"="+p.Path(), "GORACE=atexit_sleep_ms=0")
	c.cmd.Env = append(c.cmd.Env, env...)
	in := must(c.cmd.StdinPipe())
	out := must(c.cmd.StdoutPipe())
	c.in, c.out = in, bufio.NewReader(out)
	check(t, c.cmd.Start())
	t.Cleanup(c.kill)
	compare(t, "ready", c.line())
	return c
}

func (c *child) line() string {
	c.t.Helper()
	text := must(c.out.ReadString('\n'))
	return strings.TrimSpace(text)
}

// start lets the child take the session; hold also waits until the child holds it.
func (c *child) start() { _, _ = io.WriteString(c.in, "go\n") }

func (c *child) hold() *child {
	c.t.Helper()
	c.start()
	got := c.line()
	require(c.t, strings.HasPrefix(got, "holds:"), got)
	return c
}

// end lets the child release the session and exit; kill ends it without warning.
func (c *child) end() {
	c.t.Helper()
	_ = c.in.Close()
	check(c.t, c.cmd.Wait())
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func project(t *testing.T) *store.Project {
	t.Helper()
	p := must(store.OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func acquire(t *testing.T, p *store.Project, o store.LockOptions) *store.Lock {
	t.Helper()
	l := must(store.AcquireLock(p, "s", o))
	t.Cleanup(func() { _ = l.Release() })
	return l
}

// putLock writes a lock file without locking it.
func putLock(t *testing.T, p *store.Project, session, text string) {
	t.Helper()
	check(t, p.Replace(store.LockFile(session), []byte(text)))
}

// locks lists the files in the directory of the locks.
func locks(t *testing.T, p *store.Project) []string {
	t.Helper()
	entries := must(p.Entries(store.LocksDir))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// holderIs checks the holder of session s; 0 means none.
func holderIs(t *testing.T, p *store.Project, pid int) {
	t.Helper()
	info, held, err := store.LockHolder(p, "s")
	require(t, err == nil && held == (pid != 0) && info.PID == pid, info, held, err, pid)
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
