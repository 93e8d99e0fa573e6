package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// fencePrefix begins the names of our cgroups; this process's id and a random part follow.
	fencePrefix = "agent-pipelines-"
	// fenceTime is how long remaining processes of a cgroup have to end.
	fenceTime = 2 * time.Second
	fenceLook = 5 * time.Millisecond
)

// fence is a cgroup that counts the tasks of one process and what it started.
type fence struct{ dir string }

// newFence makes one, and opens the file by which a process joins it. The caller closes the file.
func newFence(limit int) (*fence, *os.File, error) {
	var faults []error
	for _, parent := range fenceParents("/proc/self/mounts", "/proc/self/cgroup") {
		sweepFences(parent)
		f, procs, err := makeFence(parent, limit)
		if err == nil {
			return f, procs, nil
		}
		faults = append(faults, err)
	}
	why := errors.Join(faults...)
	if why == nil {
		why = errors.New("no pids controller is mounted where this process is")
	}
	return nil, nil, failure.New(failure.SandboxUnavailable, "the number of root's processes can only be limited by a cgroup: %w", why).
		WithHint("run as an ordinary user, make the pids controller writable, or leave policy.sandbox.processes out")
}

func makeFence(parent string, limit int) (*fence, *os.File, error) {
	dir, err := os.MkdirTemp(parent, fencePrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, nil, err
	}
	f := &fence{dir}
	err = os.WriteFile(filepath.Join(dir, "pids.max"), []byte(strconv.Itoa(limit)), 0)
	if err == nil {
		var procs *os.File
		if procs, err = os.OpenFile(filepath.Join(dir, "cgroup.procs"), os.O_WRONLY, 0); err == nil {
			return f, procs, nil
		}
	}
	f.remove()
	return nil, nil, err
}

// fenceParents are the directories in which a cgroup that counts tasks can be made: of version 1 the group
// that this process is in, of version 2 the nearest one above that counts for its children.
func fenceParents(mounts, own string) []string {
	mounted, err := os.ReadFile(mounts)
	if err != nil {
		return nil
	}
	member, _ := os.ReadFile(own)
	var found []string
	for line := range strings.Lines(string(mounted)) {
		w := strings.Fields(line)
		switch {
		case len(w) < 4:
		case w[2] == "cgroup" && slices.Contains(strings.Split(w[3], ","), "pids"):
			found = append(found, nearest(w[1], membership(string(member), "pids"), func(string) bool { return true }))
		case w[2] == "cgroup2":
			found = append(found, nearest(w[1], membership(string(member), ""), countsChildren))
		}
	}
	return nonEmpty(found...)
}

// membership is the path of this process's group in the hierarchy with the controller, "" for version 2.
func membership(text, controller string) string {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && (parts[1] == controller || controller != "" && slices.Contains(strings.Split(parts[1], ","), controller)) {
			return parts[2]
		}
	}
	return "/"
}

// nearest goes up from the group to the mount until a directory exists and is fit, "" if none is.
func nearest(mount, group string, fit func(dir string) bool) string {
	for path := filepath.Clean("/" + group); ; path = filepath.Dir(path) {
		dir := filepath.Join(mount, path)
		if info, err := os.Stat(dir); err == nil && info.IsDir() && fit(dir) {
			return dir
		}
		if path == "/" {
			return ""
		}
	}
}

func countsChildren(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(b)), "pids")
}

// remove ends the remaining processes of the fence and removes it.
func (f *fence) remove() {
	for deadline := time.Now().Add(fenceTime); ; {
		err := unix.Rmdir(f.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return
		}
		f.kill()
		<-time.After(fenceLook)
	}
}

func (f *fence) kill() {
	b, _ := os.ReadFile(filepath.Join(f.dir, "cgroup.procs"))
	for word := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// sweepFences removes the empty fences of hosts that are gone.
func sweepFences(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), fencePrefix)
		pid, _, numbered := strings.Cut(rest, "-")
		n, err := strconv.Atoi(pid)
		if ours && numbered && err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			_ = unix.Rmdir(filepath.Join(parent, e.Name())) // fails while a process is in it
		}
	}
}

// joinFence is made by the process that is to be counted.
func joinFence(fd int) error {
	if _, err := unix.Write(fd, []byte("0")); err != nil {
		return fmt.Errorf("join the cgroup that counts processes: %w", err)
	}
	return unix.Close(fd)
}
