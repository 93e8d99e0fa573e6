package subprocess

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// attributes makes the process a group leader. A bound process gets SIGTERM when its parent dies,
// as the kernel's plugins do.
func attributes(bound bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if bound {
		a.Pdeathsig = syscall.SIGTERM
	}
	return a
}

// SeesProcesses states that this system shows the environments of processes.
const SeesProcesses = true

// MarkedPIDs returns the living processes that were started with the entry in their environment.
func MarkedPIDs(entry string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	var found []int
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err != nil || !slices.ContainsFunc(bytes.Split(env, []byte{0}), func(e []byte) bool { return string(e) == entry }) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// DescribeMarked returns the number and the command line of each process that [MarkedPIDs] returns.
func DescribeMarked(entry string) []string {
	var found []string
	for _, pid := range MarkedPIDs(entry) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // the process may have ended
		found = append(found, strings.TrimSpace(fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte(" ")))))
	}
	return found
}

// ReadEnviron returns the environment with which a process was started.
func ReadEnviron(pid int) []string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
}

// Resources counts the open files, threads and memory of a process.
type Resources struct {
	Files, Threads int
	Memory         int64 // private bytes, without mapped files
}

// ReadResources returns the resources of a process.
func ReadResources(pid int) (Resources, error) {
	var h Resources
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return h, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return h, err
	}
	h.Files = len(fds)
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64) // an unparsable value belongs to another field
		switch fields[0] {
		case "Threads:":
			h.Threads = int(n)
		case "RssAnon:":
			h.Memory = n << 10
		}
	}
	return h, nil
}
