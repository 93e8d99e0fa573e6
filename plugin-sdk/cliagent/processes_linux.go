package cliagent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup makes a child the leader of its own process group. The child can then be ended with its
// children, and Ctrl-C at the terminal does not reach them.
//
// If the plugin is killed, the system sends SIGTERM to the child, on which agents end their tools.
// SIGKILL would leave tools running in their own sessions.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// proc is an entry of the process table.
type proc struct {
	pid, parent, group, session int
	start                       uint64 // clock ticks since boot
}

// begin makes the process with this ID the root.
func (f *family) begin(pid int) {
	f.root, f.known = pid, map[int]uint64{}
	if p, ok := readProc(pid); ok {
		f.known[pid] = p.start
	}
}

// note records the current members.
func (f *family) note() { f.members() }

// signal sends sig to every living member, or nothing if sig is 0, and returns the number of
// members. The oldest members get sig first: a shell must get the signal before the program that the
// shell waits for ends.
func (f *family) signal(sig syscall.Signal) int {
	members := f.members()
	slices.SortFunc(members, func(a, b proc) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid)) })
	for _, m := range members {
		if sig != 0 {
			m.signal(sig)
		}
	}
	return len(members)
}

// members returns and records the living members.
func (f *family) members() []proc {
	table := processTable()
	var found []proc
	for grown := true; grown; {
		grown = false
		for pid, p := range table {
			if !f.owns(p, table) {
				continue
			}
			f.known[pid] = p.start
			found = append(found, p)
			delete(table, pid)
			grown = true
		}
	}
	return found
}

// owns reports whether p is a member. A member is known, in the root's group, a child or in the session of
// a known member, or marked by environment or tag. The ID of a member does not count if a process outside
// the family has the ID now.
func (f *family) owns(p proc, table map[int]proc) bool {
	if p.pid == os.Getpid() {
		return false
	}
	if start, ok := f.known[p.pid]; ok {
		return start == p.start
	}
	if leader, reused := table[f.root]; p.group == f.root && (!reused || leader.start == f.known[f.root]) {
		return true
	}
	return f.has(p.parent, table) || f.has(p.session, table) || f.hasTag(p.pid) || hasEnv(p.pid, f.mark)
}

// has reports whether an ID belongs to a member, dead or alive, and not to a later process outside
// the family.
func (f *family) has(pid int, table map[int]proc) bool {
	start, ok := f.known[pid]
	now, alive := table[pid]
	return ok && (!alive || now.start == start)
}

// signal sends sig to the process, never to a later process with the same ID: it opens the handle
// before it compares the start time.
func (p proc) signal(sig syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		_ = handle.Signal(sig)
	}
}

// processTable returns the living processes by ID.
func processTable() map[int]proc {
	names, _ := filepath.Glob("/proc/[0-9]*")
	table := make(map[int]proc, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			table[pid] = p
		}
	}
	return table
}

// readProc reads /proc/<pid>/stat, see proc_pid_stat(5). Zombies count as dead.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, b)
}

// parseStat parses the fields after the command's name, which is in parentheses and may contain any
// character.
func parseStat(pid int, stat []byte) (proc, bool) {
	const state, parent, group, session, start, count = 0, 1, 2, 3, 19, 20
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < count || bytes.ContainsAny(f[state], "ZX") {
		return proc{}, false
	}
	p := proc{pid: pid}
	var errs [4]error
	p.parent, errs[0] = strconv.Atoi(string(f[parent]))
	p.group, errs[1] = strconv.Atoi(string(f[group]))
	p.session, errs[2] = strconv.Atoi(string(f[session]))
	p.start, errs[3] = strconv.ParseUint(string(f[start]), 10, 64)
	if errors.Join(errs[:]...) != nil {
		return proc{}, false
	}
	return p, true
}

// hasEnv reports whether the process was started with the entry in its environment. It returns
// false for another user's process, whose environment is unreadable.
func hasEnv(pid int, entry string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && slices.Contains(strings.Split(string(b), "\x00"), entry)
}
