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

// StatusFields returns the values of /proc/<pid>/status (proc(5)) by their names, such as the four user ids of "Uid". It
// is empty if the process has ended. Unlike the owner of the directory, it shows the user of a process that denies access
// to its memory.
func StatusFields(pid int) map[string][]string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, values, _ := strings.Cut(line, ":")
		all[name] = strings.Fields(values)
	}
	return all
}
