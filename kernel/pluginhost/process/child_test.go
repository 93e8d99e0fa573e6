package process

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// testTimeout is far above the time of every operation here, so that only a hang exceeds it.
const testTimeout = 20 * time.Second

// start runs a shell script as a child and reads its two streams to their ends.
func start(t *testing.T, body string, with ...func(*Spec)) *Process {
	t.Helper()
	spawner := NewSpawner()
	t.Cleanup(spawner.Close)
	path := filepath.Join(t.TempDir(), "agent-plugin-x")
	writeProgram(t, path, "#!/bin/sh\n"+body)
	spec := Spec{Path: path, Env: os.Environ(), Dir: t.TempDir(), Marker: NewMarker(t.Name()), Number: 1}
	for _, set := range with {
		set(&spec)
	}
	c := New(spawner, spec)
	check(t, c.Start(t.Context()))
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, c.Stderr())
	}()
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, _ = io.Copy(io.Discard, c.Stdout())
	}()
	t.Cleanup(func() {
		_ = c.Kill(context.Background())
		await(t, c)
		<-drained
		<-first
	})
	return c
}

func writeProgram(t *testing.T, path, content string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(content), 0o700))
}

func await(t *testing.T, c *Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	check(t, c.Wait(ctx))
}

func TestExitOfChild(t *testing.T) {
	c := start(t, "echo hello; echo the reason >&2; exit 3")
	await(t, c)
	compare(t, "exit status 3", c.Exit())
	compare(t, "hello", c.FirstLine())
	compare(t, "the reason\n", c.Diagnose(t.Context()))
}

func TestChildKeepsTheEndOfStderr(t *testing.T) {
	c := start(t, "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done")
	await(t, c)
	tail := c.Tail()
	require(t, len(tail) == StderrKept && strings.HasSuffix(tail, "line 2999\n"), len(tail), tail[max(0, len(tail)-20):])
}

func TestKillEndsTheGroup(t *testing.T) {
	c := start(t, "sleep 3600 & echo $!; wait")
	child := firstPID(t, c)
	check(t, c.Kill(t.Context()))
	await(t, c)
	assertGone(t, child)
	check(t, c.Kill(t.Context()))
}

func TestGroupDiesWithItsLeader(t *testing.T) {
	c := start(t, "sleep 3600 & echo $!; exit 0")
	child := firstPID(t, c)
	await(t, c)
	assertGone(t, child)
}

func TestStoppedChildCanBeKilled(t *testing.T) {
	c := start(t, "echo $$; kill -STOP $$; sleep 3600")
	_ = firstPID(t, c)
	check(t, c.Kill(t.Context()))
	await(t, c)
	compare(t, "signal: killed", c.Exit())
}

func TestKillBeforeStart(t *testing.T) {
	spawner := NewSpawner()
	defer spawner.Close()
	path := filepath.Join(t.TempDir(), "agent-plugin-x")
	writeProgram(t, path, "#!/bin/sh\nsleep 3600\n")
	c := New(spawner, Spec{Path: path, Marker: NewMarker(t.Name())})
	check(t, c.Kill(t.Context()))
	check(t, c.Start(t.Context()))
	await(t, c)
}

func TestStdinStaysOpenAndSilent(t *testing.T) {
	c := start(t, "echo ready; read line; echo read ended >&2")
	_ = firstWord(t, c)
	select {
	case <-c.Done():
		t.Fatal("stdin ended while the host lives")
	case <-time.After(50 * time.Millisecond):
	}
	_ = c.stdio().stdin.Close() // as at the host's end
	await(t, c)
	compare(t, "read ended\n", c.Tail())
}

func TestMarkersAreInTheEnvironment(t *testing.T) {
	c := start(t, "echo $AGENT_PIPELINES_RUN $AGENT_PIPELINES_PROCESS")
	await(t, c)
	compare(t, NewMarker(t.Name()).String()+" 1", c.FirstLine())
}

func TestStartFaults(t *testing.T) {
	dir := t.TempDir()
	noExec := filepath.Join(dir, "noexec")
	check(t, os.WriteFile(noExec, []byte("#!/bin/sh\n"), 0o600))
	noProgram := filepath.Join(dir, "noprogram")
	writeProgram(t, noProgram, "just text, longer than a header needs to be\n")
	noInterpreter := filepath.Join(dir, "nointerpreter")
	writeProgram(t, noInterpreter, "#!/no/such/interpreter\n")
	tests := []struct {
		name, path string
		want       error
	}{
		{"missing", filepath.Join(dir, "missing"), fs.ErrNotExist},
		{"directory", dir, fs.ErrPermission},
		{"not executable", noExec, fs.ErrPermission},
		{"no program", noProgram, syscall.ENOEXEC},
		{"interpreter missing", noInterpreter, fs.ErrNotExist},
	}
	spawner := NewSpawner()
	defer spawner.Close()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := New(spawner, Spec{Path: tt.path}).Start(t.Context())
			require(t, errors.Is(err, tt.want) && strings.Contains(err.Error(), tt.path), err)
		})
	}
}

func TestClosedSpawnerStartsNothing(t *testing.T) {
	spawner := NewSpawner()
	spawner.Close()
	spawner.Close()
	err := New(spawner, Spec{Path: "/bin/sh"}).Start(t.Context())
	require(t, errors.Is(err, ErrSpawnerClosed), err, ErrSpawnerClosed)
}

// firstWord waits for the first line of the child's stdout.
func firstWord(t *testing.T, c *Process) string {
	t.Helper()
	deadline := time.Now().Add(testTimeout)
	for time.Now().Before(deadline) {
		if s := c.FirstLine(); s != "" && c.stdio().first.complete() {
			return s
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the child says nothing")
	return ""
}

func firstPID(t *testing.T, c *Process) int {
	t.Helper()
	return must(strconv.Atoi(firstWord(t, c)))
}

// assertGone fails if the process runs. A zombie that init has not reaped yet counts as gone.
func assertGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(testTimeout)
	for time.Now().Before(deadline) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || isZombie(pid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// complete reports whether the whole line was received.
func (l *firstLine) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
