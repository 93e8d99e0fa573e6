package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where root's tasks can be counted, by what is mounted and where the process is.
func TestFenceParents(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"v1/user/app", "v2/user.slice/session"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for dir, controllers := range map[string]string{"v2": "cpu pids\n", "v2/user.slice": "memory pids\n", "v2/user.slice/session": "\n"} {
		if err := os.WriteFile(filepath.Join(root, dir, "cgroup.subtree_control"), []byte(controllers), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v1 := fmt.Sprintf("cgroup %s/v1 cgroup rw,nosuid,pids 0 0\ncgroup %s/cpu cgroup rw,cpu 0 0\n", root, root)
	v2 := fmt.Sprintf("cgroup2 %s/v2 cgroup2 rw,nsdelegate 0 0\n", root)
	for name, tt := range map[string]struct {
		mounts, cgroup string
		want           []string
	}{
		"version 1":                  {v1, "8:pids:/user/app\n0::/\n", []string{"v1/user/app"}},
		"version 1, of a container":  {v1, "8:pids:/docker/0123\n", []string{"v1"}},
		"several controllers":        {v1, "8:cpu,pids:/user\n", []string{"v1/user"}},
		"version 2":                  {v2, "0::/user.slice/session\n", []string{"v2/user.slice"}},
		"version 2, of a container":  {v2, "0::/../other\n", []string{"v2"}},
		"both":                       {v1 + v2, "8:pids:/\n0::/\n", []string{"v1", "v2"}},
		"neither":                    {"tmpfs / tmpfs rw 0 0\nx\n", "0::/\n", nil},
		"nothing is known of itself": {v1, "", []string{"v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			mounts, own := filepath.Join(t.TempDir(), "mounts"), filepath.Join(t.TempDir(), "cgroup")
			for path, text := range map[string]string{mounts: tt.mounts, own: tt.cgroup} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for _, w := range tt.want {
				want = append(want, filepath.Join(root, w))
			}
			if diff := cmp.Diff(want, fenceParents(mounts, own)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := fenceParents(filepath.Join(root, "none"), filepath.Join(root, "none")); got != nil {
		t.Errorf("without any file: %v", got)
	}
}

// Empty fences of hosts that are gone are removed, all others stay.
func TestSweepFences(t *testing.T) {
	parent := t.TempDir()
	stale, full := fencePrefix+"999999999-1", fencePrefix+"999999999-2/task"
	stay := []string{fmt.Sprintf("%s%d-1", fencePrefix, os.Getpid()), "agent-pipelines-x-1", "agent-pipelines-999999999", "other-999999999-1", filepath.Dir(full)}
	for _, dir := range append([]string{stale, full}, stay...) {
		if err := os.MkdirAll(filepath.Join(parent, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweepFences(parent)
	if _, err := os.Stat(filepath.Join(parent, stale)); err == nil {
		t.Errorf("%s is left", stale)
	}
	for _, dir := range stay {
		if _, err := os.Stat(filepath.Join(parent, dir)); err != nil {
			t.Errorf("%s was removed", dir)
		}
	}
}

// Remaining processes of a fence are killed until it can be removed: cgroup.procs lists them, and changes while it is
// read.
func TestFenceEndsWhatIsLeft(t *testing.T) {
	f := &fence{filepath.Join(t.TempDir(), "fence")}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	left := exec.CommandContext(t.Context(), "sleep", "60")
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	procs := filepath.Join(f.dir, "cgroup.procs")
	if err := os.WriteFile(procs, fmt.Appendf(nil, "\n0\nx\n%d\n", left.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = left.Wait()
		_ = os.Remove(procs) // as the system does
	})
	f.remove()
	ended.Wait()
	if _, err := os.Stat(f.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the fence is still there: %v", err)
	}
	if ws, ok := left.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Errorf("the remaining process ended by %v", left.ProcessState)
	}
}
