package cliagent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// fakeVariable is the environment variable that makes the test binary act as another program.
const fakeVariable = "CLIAGENT_TEST_FAKE"

func TestMain(m *testing.M) {
	switch os.Getenv(fakeVariable) {
	case "":
		goleak.VerifyTestMain(m)
	case "escape":
		escape()
	case "host":
		host()
	}
}

// escape starts a command in a new session, prints the command's process ID and ends.
func escape() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // keeps the agent's pipes open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
}

// host acts as a plugin whose agent prints its own process ID and hangs.
func host() {
	c := shell(`echo $$; exec sleep 600`)
	c.Line = func(line []byte) bool {
		_, _ = os.Stdout.Write(line)
		return false
	}
	_, _ = Run(context.Background(), c)
}

// shell returns an agent that runs a script, in which $0 is the test binary.
func shell(script string) Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Command{
		Name: "fake", Path: "/bin/sh", Args: []string{"-c", script, self}, Dir: os.TempDir(),
		Env: Environ(os.Environ(), map[string]string{"GORACE": "atexit_sleep_ms=0"}), Grace: 20 * time.Second, Timeout: time.Minute,
	}
}

// run runs c to its end and also returns the lines that c wrote to stdout.
func run(ctx context.Context, t *testing.T, c Command) (End, []string) {
	t.Helper()
	var lines []string
	next := c.Line
	c.Line = func(line []byte) bool {
		lines = append(lines, string(line))
		return next != nil && next(line)
	}
	end := must(Run(ctx, c))
	if end.Survivors != 0 {
		t.Errorf("%d processes survived", end.Survivors)
	}
	return end, lines
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
func compare[T any](t testing.TB, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
