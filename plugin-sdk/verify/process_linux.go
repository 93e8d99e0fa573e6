package verify

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

// attributes make the process the leader of a group; a bound one gets SIGTERM when its parent dies, as
// the kernel's plugins do.
func attributes(bound bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if bound {
		a.Pdeathsig = syscall.SIGTERM
	}
	return a
}

// seesProcesses says that this system tells what processes look like from outside.
const seesProcesses = true

// markedPIDs are the living processes that were started with the entry in their environment.
func markedPIDs(entry string) []int {
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

// marked are the same processes in words: number and command line.
func marked(entry string) []string {
	var found []string
	for _, pid := range markedPIDs(entry) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended by now
		found = append(found, strings.TrimSpace(fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte(" ")))))
	}
	return found
}

// environOf is the environment with which a process was started.
func environOf(pid int) []string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(env), "\x00"), "\x00")
}

// holdings are what a process holds.
type holdings struct {
	files, threads int
	memory         int64 // bytes of its own, without what is mapped from files
}

func holds(pid int) (holdings, error) {
	var h holdings
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return h, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return h, err
	}
	h.files = len(fds)
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(fields[1], 10, 64) // a field that is no number is none of these two
		switch fields[0] {
		case "Threads:":
			h.threads = int(n)
		case "RssAnon:":
			h.memory = n << 10
		}
	}
	return h, nil
}
