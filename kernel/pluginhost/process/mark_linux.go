package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

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

// maxLists bounds the lists of one search on a machine that starts processes faster than they are read.
const maxLists = 20

// readMarks returns this user's living processes of this PID namespace that have a mark. It lists /proc until a list has
// no new process: one whose parent was listed, started it and ended at once is in the next list.
func readMarks() []markedPID {
	var all []markedPID
	known := map[int]bool{}
	for fresh, lists := true, 0; fresh && lists < maxLists; lists++ {
		fresh = false
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || known[pid] {
				continue
			}
			fresh, known[pid] = true, true
			if m := readMark(pid); !m.isEmpty() && !isZombie(pid) && isOwnProcess(pid) {
				all = append(all, markedPID{ownerMark: m, pid: pid})
			}
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

// isOwnProcess reports whether the process belongs to this user and to this PID namespace. Each process has a number in its
// own namespace and in each one above, up to that of /proc.
func isOwnProcess(pid int) bool {
	own, other := store.StatusFields(os.Getpid()), store.StatusFields(pid)
	return len(other["NSpid"]) == len(own["NSpid"]) && len(other["Uid"]) > 1 && other["Uid"][1] == own["Uid"][1]
}

// isZombie reports whether the process has ended. A zombie keeps its limits, and with them its tag.
func isZombie(pid int) bool {
	fields, ok := store.StatFields(pid)
	return !ok || fields[stateField] == "Z"
}

// isKernelAlive reports whether the marker's kernel runs. A kernel with an unknown start time counts as running while
// its number is in use.
func isKernelAlive(m Marker) bool {
	fields, ok := store.StatFields(m.PID)
	return ok && fields[stateField] != "Z" && (m.Start == 0 || fields[startField] == strconv.FormatUint(m.Start, 10))
}
