package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Indices of fields in [StatFields].
const (
	stateField = 0
	startField = 19
)

// isRunning reports whether a process has this number. A zombie does not run: its files are closed, and it
// only waits until its parent reaps it.
func isRunning(pid int) bool {
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	fields, ok := StatFields(pid)
	return !ok || fields[stateField] != "Z" && fields[stateField] != "X"
}

// processStart returns "<boot>/<clock ticks from the boot to the process's start>".
func processStart(pid int) (string, bool) {
	fields, ok := StatFields(pid)
	if !ok {
		return "", false
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startField], true
}

// StatFields returns the fields of /proc/<pid>/stat (proc(5)) from the state on, which follows the name in brackets.
// ok is false if there are fewer than 20 fields.
func StatFields(pid int) ([]string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(text, ')') // the name itself may contain brackets
	if err != nil || end < 0 {
		return nil, false
	}
	fields := strings.Fields(string(text[end+1:]))
	return fields, len(fields) > startField
}
