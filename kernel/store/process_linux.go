package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Fields of /proc/<pid>/stat (proc(5)), counted from the state, which follows the name in brackets.
const (
	stateField = 0
	startField = 19
)

// isRunning reports whether a process has this number. A zombie does not run: its files are closed, and only
// its parent has not reaped it yet.
func isRunning(pid int) bool {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	fields, ok := processStat(pid)
	return !ok || fields[stateField] != "Z" && fields[stateField] != "X"
}

// processStart returns "<boot>/<clock ticks from the boot to the process's start>".
func processStart(pid int) (string, bool) {
	fields, ok := processStat(pid)
	if !ok {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startField], true
}

func processStat(pid int) ([]string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	_, after, found := bytes.Cut(text, []byte(") "))
	for found { // the name itself may contain brackets
		text = after
		_, after, found = bytes.Cut(text, []byte(") "))
	}
	fields := strings.Fields(string(text))
	return fields, len(fields) > startField
}
