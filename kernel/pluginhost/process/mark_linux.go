package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// ownerMark identifies the owner of a process: the marker variables, if it still has them, and the tag.
type ownerMark struct {
	marker Marker
	number string
	tag    tag
}

// isEmpty reports whether the owner is unknown.
func (m ownerMark) isEmpty() bool { return m.marker == Marker{} && !m.tag.valid() }

// markedPID is a process that had a mark at the time of a scan.
type markedPID struct {
	ownerMark
	pid int
}

// readMarks searches /proc for processes with a mark.
func readMarks() []markedPID {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []markedPID
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if m := readMark(pid); !m.isEmpty() {
			all = append(all, markedPID{ownerMark: m, pid: pid})
		}
	}
	return all
}

// readMark returns the mark of a process. It is empty for a process of another user.
func readMark(pid int) ownerMark {
	m := ownerMark{tag: readTag(pid)}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return m
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		switch name {
		case MarkerVariable:
			m.marker, _ = ParseMarker(value)
		case ProcessVariable:
			m.number = value
		}
	}
	return m
}

func isOwnProcess(pid int) bool {
	var st unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st)
	return err == nil && int(st.Uid) == os.Geteuid()
}

func namespace(pid string) string {
	ns, err := os.Readlink("/proc/" + pid + "/ns/pid")
	if err != nil {
		return "unknown: " + pid // equal to no other
	}
	return ns
}

// isKernelAlive reports whether the marker's kernel runs. A kernel with an unknown start time counts as running while
// its number is in use.
func isKernelAlive(m Marker) bool {
	fields, ok := store.StatFields(m.PID)
	if !ok || fields[stateField] == "Z" {
		return false
	}
	return m.Start == 0 || fields[startField] == strconv.FormatUint(m.Start, 10)
}
