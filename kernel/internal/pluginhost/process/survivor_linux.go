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
)

// marked is a process with a marker in its environment, held by a descriptor of its own, so that a
// signal cannot reach a later process with the same number.
type marked struct {
	handle *os.Process
	pid    int
	marker Marker
	number string
}

func sweep(ctx context.Context, prefix string, grace time.Duration) ([]Survivor, error) {
	spared := ancestors()
	var found []Survivor
	for range sweepRounds {
		left := findMarked(func(m marked) bool {
			return strings.HasPrefix(m.marker.Run, prefix) && !kernelLives(m.marker) && !spared[m.pid]
		})
		for _, m := range left {
			spared[m.pid] = true // once is enough for a process that no signal ends
		}
		if len(left) == 0 {
			break
		}
		found = append(found, endAll(ctx, left, grace)...)
		if ctx.Err() != nil {
			break
		}
	}
	slices.SortFunc(found, func(a, b Survivor) int { return cmp.Compare(a.PID, b.PID) })
	return found, context.Cause(ctx)
}

// endEscaped ends what one plugin process of this kernel left outside its group.
func endEscaped(marker Marker, number int) {
	for range sweepRounds {
		left := findMarked(func(m marked) bool {
			return m.marker == marker && m.number == strconv.Itoa(number) && m.pid != os.Getpid()
		})
		if len(left) == 0 {
			return
		}
		for _, m := range left {
			_ = m.handle.Kill()
			_ = m.gone(context.Background(), killTime)
			_ = m.handle.Release()
		}
	}
}

// endAll releases the handles.
func endAll(ctx context.Context, left []marked, grace time.Duration) []Survivor {
	found := make([]Survivor, 0, len(left))
	for _, m := range left {
		found = append(found, Survivor{PID: m.pid, Command: command(m.pid), Run: m.marker.Run})
		_ = m.handle.Signal(syscall.SIGTERM)
	}
	deadline := time.Now().Add(grace)
	for i, m := range left {
		if !m.gone(ctx, time.Until(deadline)) {
			_ = m.handle.Kill()
		}
		found[i].Ended = m.gone(ctx, killTime)
		_ = m.handle.Release()
	}
	return found
}

// gone waits for the end of the process and reaps it where it was adopted. A zombie counts as gone:
// it runs no more, and only its parent can remove it.
func (m marked) gone(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(lookTime)
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

func (m marked) zombie() bool {
	fields, ok := stat(m.pid)
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

// findMarked looks through /proc for this user's processes; the caller releases the handles.
func findMarked(match func(marked) bool) []marked {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	here := namespace("self")
	var found []marked
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if m, ok := openMarked(pid, here); ok {
			if match(m) {
				found = append(found, m)
			} else {
				_ = m.handle.Release()
			}
		}
	}
	return found
}

// openMarked takes hold of the process first and reads its environment then: what was read belongs
// to what is held.
func openMarked(pid int, here string) (marked, bool) {
	if !mine(pid) || namespace(strconv.Itoa(pid)) != here {
		return marked{}, false
	}
	marker, _, ok := readMarker(pid)
	if !ok {
		return marked{}, false
	}
	handle, err := os.FindProcess(pid)
	if err != nil {
		return marked{}, false
	}
	again, number, ok := readMarker(pid)
	if !ok || again != marker {
		_ = handle.Release()
		return marked{}, false
	}
	return marked{handle: handle, pid: pid, marker: marker, number: number}, true
}

func mine(pid int) bool {
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

func readMarker(pid int) (m Marker, number string, ok bool) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return Marker{}, "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		switch name {
		case MarkerVariable:
			m, ok = ParseMarker(value)
		case ProcessVariable:
			number = value
		}
	}
	return m, number, ok
}

// kernelLives is careful: a kernel whose start time is unknown counts as living while its number is in use.
func kernelLives(m Marker) bool {
	fields, ok := stat(m.PID)
	if !ok || fields[stateField] == "Z" {
		return false
	}
	return m.Start == 0 || fields[startField] == strconv.FormatUint(m.Start, 10)
}

func command(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
}

// ancestors holds this process and all above it.
func ancestors() map[int]bool {
	up := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !up[pid]; {
		up[pid] = true
		fields, ok := stat(pid)
		if !ok {
			break
		}
		pid, _ = strconv.Atoi(fields[parentField])
	}
	return up
}
