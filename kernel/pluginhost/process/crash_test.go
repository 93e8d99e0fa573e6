//go:build crashpoints

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// D1: wherever a kernel dies while it makes a socket directory, a later kernel removes the directory.
func TestCrashedSocketDir(t *testing.T) {
	const below = "AGENT_PIPELINES_TEST_SOCKETS"
	if base := os.Getenv(below); base != "" { // the kernel
		_, err := NewSocketDir(base)
		t.Fatal("it lives", err)
	}
	base := shortDir(t)
	c := exec.Command(os.Args[0], "-test.run=^TestCrashedSocketDir$")
	c.Env = append(os.Environ(), below+"="+base, "AGENT_PIPELINES_CRASH_AT=socketdir.make.before-lock")
	var end *exec.ExitError
	if out, err := c.CombinedOutput(); !errors.As(err, &end) || end.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v\n%s", err, out)
	}
	left, err := filepath.Glob(filepath.Join(base, socketDirPrefix+"*"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if err := SweepSocketDirs(base); err != nil || exists(left[0]) {
		t.Errorf("%v, %s is there: %t", err, left[0], exists(left[0]))
	}
}
