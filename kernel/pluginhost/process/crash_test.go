//go:build crashpoints

package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// D1: wherever a kernel dies while it makes a socket directory, a later one removes it.
func TestCrashedSocketDir(t *testing.T) {
	const below = "AGENT_PIPELINES_TEST_SOCKETS"
	if base := os.Getenv(below); base != "" { // the kernel
		_, err := NewSocketDir(base)
		t.Fatal("it lives", err)
	}
	for _, point := range []string{"socketdir.make.before-lock", "socketdir.make.before-rename"} {
		t.Run(point, func(t *testing.T) {
			base := shortDir(t)
			c := exec.Command(os.Args[0], "-test.run=^TestCrashedSocketDir$")
			c.Env = append(os.Environ(), below+"="+base, "AGENT_PIPELINES_CRASH_AT="+point)
			var end *exec.ExitError
			if out, err := c.CombinedOutput(); !errors.As(err, &end) || end.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("%v\n%s", err, out)
			}
			left, err := filepath.Glob(filepath.Join(base, socketDirPrefix+"*"))
			if err != nil || len(left) != 1 {
				t.Fatal(left, err)
			}
			for _, fresh := range []bool{true, false} { // at once it may be one that is just being made
				if err := SweepSocketDirs(base); err != nil {
					t.Error(err)
				}
				if exists(left[0]) != fresh {
					t.Fatalf("%s is there: %t", left[0], !fresh)
				}
				if old := time.Now().Add(-unfinishedAfter); fresh {
					if err := os.Chtimes(left[0], old, old); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
