package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// markedProcess is a process with a mark and a handle, so that a signal cannot reach a later process with the
// same number.
type markedProcess struct {
	ownerMark
	handle *os.Process
	pid    int
}

// Sweep ends the processes of this user that outlived their kernels. A process is ended if its marker names a run that
// begins with one of prefixes. Any other process is ended if it has the tag of one of kernels. Sweep sends SIGTERM,
// after grace SIGKILL, and returns the processes, ordered by id. It never touches processes of living kernels, of other
// users or other PID namespaces, this process and its ancestors. Only Linux can search; elsewhere the result is empty.
// If ctx is cancelled, the error is its cause and the result is partial. At least one prefix is required.
func (t *Table) Sweep(ctx context.Context, prefixes []string, grace time.Duration, kernels ...Marker) ([]Survivor, error) {
	dead := slices.DeleteFunc(slices.Clone(kernels), isKernelAlive)
	left := func(m ownerMark) bool {
		isPrefix := func(prefix string) bool { return strings.HasPrefix(m.marker.Run, prefix) }
		if slices.ContainsFunc(prefixes, isPrefix) && m.marker != (Marker{}) {
			return !isKernelAlive(m.marker)
		}
		return slices.ContainsFunc(dead, func(k Marker) bool { return m.tag.sameRun(newTag(k, 0)) })
	}
	found := t.endMatching(ctx, ancestorPIDs(), left, grace)
	slices.SortFunc(found, func(a, b Survivor) int { return cmp.Compare(a.PID, b.PID) })
	for i := range found {
		found[i].Run = cmp.Or(found[i].Run, prefixes[0])
	}
	return found, context.Cause(ctx)
}

// endLeaked ends the processes that one plugin process of this kernel left outside its group.
func (t *Table) endLeaked(marker Marker, number int) []Survivor {
	own, tagged := strconv.Itoa(number), newTag(marker, number)
	found := t.endMatching(context.Background(), map[int]bool{os.Getpid(): true}, func(m ownerMark) bool {
		return m.marker == marker && m.number == own || m.tag == tagged
	}, 0)
	for i := range found {
		found[i].Run = marker.Run
	}
	return found
}

// endMatching ends matching processes, and the processes that they start meanwhile, until none is left or the time is
// up. Excluded processes are not touched. A process that does not end is reported once.
func (t *Table) endMatching(ctx context.Context, excluded map[int]bool, match func(ownerMark) bool, grace time.Duration) []Survivor {
	var found []Survivor
	searching := false // a process was found once
	for until, empty := time.Now().Add(grace+sweepTime), 0; ctx.Err() == nil && time.Now().Before(until); {
		left, some := t.find(func(s markedPID) bool { return !excluded[s.pid] && match(s.ownerMark) })
		for _, m := range left {
			excluded[m.pid] = true // a process that no signal ends is tried once
		}
		if len(left) > 0 {
			found = append(found, endAll(ctx, left, grace)...)
			grace = 0 // processes that begin later get no time to end
		}
		if some {
			empty, searching = 0, true
			continue
		}
		if empty++; !searching || empty == emptyScans {
			break
		}
		<-time.After(pollInterval) // a scan misses processes that start during it
	}
	return found
}

// endAll ends the processes and releases the handles.
func endAll(ctx context.Context, left []markedProcess, grace time.Duration) []Survivor {
	found := make([]Survivor, 0, len(left))
	for _, m := range left {
		found = append(found, Survivor{PID: m.pid, Command: command(m.pid), Run: m.marker.Run})
		if grace > 0 {
			_ = m.handle.Signal(syscall.SIGTERM)
		}
	}
	deadline := time.Now().Add(grace)
	for _, m := range left {
		if grace <= 0 || !m.awaitEnd(ctx, time.Until(deadline)) {
			_ = m.handle.Kill()
		}
	}
	for i, m := range left {
		found[i].Ended = m.awaitEnd(ctx, killTime)
		_ = m.handle.Release()
	}
	return found
}

// awaitEnd waits for the end of the process and reaps it if it was adopted. A zombie counts as ended, because
// only its parent can remove it.
func (m markedProcess) awaitEnd(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		if errors.Is(m.handle.Signal(syscall.Signal(0)), os.ErrProcessDone) || m.zombie() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-look.C:
		}
	}
}

func (m markedProcess) zombie() bool {
	fields, ok := store.StatFields(m.pid)
	if !ok {
		return true
	}
	if fields[stateField] != "Z" {
		return false
	}
	if fields[parentField] == strconv.Itoa(os.Getpid()) {
		_, _ = unix.Wait4(m.pid, nil, unix.WNOHANG, nil)
	}
	return true
}

// find opens handles of the matching processes; the caller releases them. some is true if a process matched, even one
// that ended before it could be opened: it may have started another one.
func (t *Table) find(match func(markedPID) bool) (found []markedProcess, some bool) {
	for _, s := range t.scan() {
		if !match(s) {
			continue
		}
		some = true
		if m, ok := s.open(); ok {
			found = append(found, m)
		}
	}
	return found, some
}

// open opens the handle first and then reads the mark, so that the mark belongs to the handle's process.
func (s markedPID) open() (markedProcess, bool) {
	handle, err := os.FindProcess(s.pid)
	if err != nil {
		return markedProcess{}, false
	}
	again := readMark(s.pid)
	if isZombie(s.pid) || again.marker != s.marker || again.tag != s.tag {
		_ = handle.Release()
		return markedProcess{}, false
	}
	return markedProcess{ownerMark: again, handle: handle, pid: s.pid}, true
}

func command(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
}

// ancestorPIDs returns this process and all its parents.
func ancestorPIDs() map[int]bool {
	up := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !up[pid]; {
		up[pid] = true
		fields, ok := store.StatFields(pid)
		if !ok {
			break
		}
		pid, _ = strconv.Atoi(fields[parentField])
	}
	return up
}
