package e2ereal

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestProcesses(t *testing.T) {
	root := t.TempDir()
	start := func(dir string, env ...string) string {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "cat")
		cmd.Dir, cmd.Env = dir, env
		stdin := must(cmd.StdinPipe()) // cat ends when the pipe is closed
		check(t, cmd.Start())
		t.Cleanup(func() { ended(t, stdin, cmd) })
		return strconv.Itoa(cmd.Process.Pid) + " cat"
	}
	byDir, byEnv := start(root), start("/", "HOME="+root+"/home")
	start("/", "HOME=/elsewhere")
	got := must(Processes(root))
	slices.Sort(got)
	want := []string{byDir, byEnv}
	slices.Sort(want)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func ended(t *testing.T, stdin io.Closer, cmd *exec.Cmd) {
	t.Helper()
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
