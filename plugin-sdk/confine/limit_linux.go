package confine

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kept are the capabilities that root keeps, to work in other users' directories. They affect only files, and files are
// confined.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

// KeptCapabilities are the names of the capabilities that root keeps.
var KeptCapabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"}

// ToolCapabilities are the capabilities with which a process moves its tools into a network of their own, and drops the
// capabilities there. They count in a user namespace alone, which owns nothing outside.
var ToolCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// ToolCapabilityNames are the names of [ToolCapabilities].
var ToolCapabilityNames = []string{"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SETPCAP"}

// dropCapabilities drops all capabilities but the kept ones and those in ambient, also for programs that the process
// will execute. An ordinary user's programs keep those in ambient.
func dropCapabilities(ambient ...uintptr) error {
	kept, inherited := uint32(kept), uint32(0)
	for _, c := range ambient {
		inherited |= 1 << c
	}
	kept |= inherited
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData // low and high half
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	if have[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := range unix.CAP_LAST_CAP + 1 {
			known, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
			if err != nil || known == 0 || c < 32 && kept&(1<<c) != 0 {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
				return fmt.Errorf("drop capability %d: %w", c, err)
			}
		}
	}
	keep := have[0].Permitted & kept
	left := [2]unix.CapUserData{{Effective: keep, Permitted: keep, Inheritable: inherited}}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	for _, c := range ambient {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0); err != nil {
			return fmt.Errorf("keep capability %d: %w", c, err)
		}
	}
	return nil
}

// limit sets the resource limits of the process. Its children inherit them.
func (o Spec) limit() error {
	// At the end of its processor time a process gets a signal, and is killed a second later.
	for _, l := range []struct {
		name       string
		resource   int
		soft, hard uint64
		limited    bool
	}{
		{"core files", unix.RLIMIT_CORE, 0, 0, true},
		{"processor time", unix.RLIMIT_CPU, uint64(o.CPU), uint64(o.CPU) + 1, o.CPU > 0},
		{"processes", unix.RLIMIT_NPROC, uint64(o.Processes), uint64(o.Processes), o.Processes > 0},
		{"memory", unix.RLIMIT_DATA, uint64(o.Memory), uint64(o.Memory), o.Memory > 0},
	} {
		if !l.limited {
			continue
		}
		if err := lower(l.resource, unix.Rlimit{Cur: l.soft, Max: l.hard}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// lower sets a limit unless a lower limit is already set.
func lower(resource int, to unix.Rlimit) error {
	var have unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &have); err != nil {
		return err
	}
	to.Max = min(to.Max, have.Max)
	to.Cur = min(to.Cur, to.Max, have.Cur)
	return unix.Prlimit(0, resource, &to, nil)
}

// tasks counts the user's processes with all their threads, as RLIMIT_NPROC does.
func tasks(uid int) int {
	entries, _ := os.ReadDir("/proc")
	sum := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		status, _ := os.ReadFile("/proc/" + e.Name() + "/status") // it may have ended
		var user, threads int
		_, users, _ := strings.Cut(string(status), "\nUid:")
		_, rest, _ := strings.Cut(users, "\nThreads:")
		_, _ = fmt.Sscan(rest, &threads)
		if _, err := fmt.Sscan(users, &user); err == nil && user == uid {
			sum += threads
		}
	}
	return sum
}
