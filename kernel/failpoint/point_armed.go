//go:build crashpoints

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// armed is built once from the environment:
//
//	AGENT_PIPELINES_CRASH_AT=<n>          die by SIGKILL at the n-th point reached, counted from 1 over all names
//	AGENT_PIPELINES_CRASH_AT=<name>,...   die at the first point with one of these names
//	AGENT_PIPELINES_CRASH_LOG=<file>      append "<number> <name>" for each point reached, before dying
//	AGENT_PIPELINES_CRASH_POWER=<loss>    before dying, simulate a power loss, see diskState
//	AGENT_PIPELINES_CRASH_DEFECT=<name>   give the kernel a fault, see [HasDefect]
var armed = &armedProcess{
	trap:  newTrap(os.Getenv("AGENT_PIPELINES_CRASH_AT"), os.Getenv("AGENT_PIPELINES_CRASH_LOG")),
	power: newDiskState(os.Getenv("AGENT_PIPELINES_CRASH_POWER")), defect: os.Getenv("AGENT_PIPELINES_CRASH_DEFECT"),
}

// armedProcess is a process that may die at a point. mu is held at a point and while dying, so that no
// goroutine passes the chosen point.
type armedProcess struct {
	defect string

	mu    sync.Mutex // guards the fields below
	trap  *trap
	power *diskState
}

// Point marks a moment at which the process may die. Names are "<package>.<action>.<moment>".
func Point(name string) {
	armed.mu.Lock()
	defer armed.mu.Unlock()
	if armed.trap.reach(name) {
		armed.power.losePower()
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // the signal ends the process
	}
}

// HasDefect reports whether the kernel has the named fault, so that a test can prove that it detects the fault.
func HasDefect(name string) bool { return armed.defect == name }

// trap counts the points reached and decides at which one the process dies.
type trap struct {
	number int // 0: none
	names  []string
	log    string
	count  int
}

func newTrap(at, log string) *trap {
	t := &trap{log: log}
	if n, err := strconv.Atoi(at); err == nil {
		t.number = n
	} else if at != "" {
		t.names = strings.Split(at, ",")
	}
	return t
}

func (t *trap) reach(name string) (die bool) {
	t.count++
	t.record(name)
	return t.count == t.number || slices.Contains(t.names, name)
}

func (t *trap) record(name string) {
	if t.log == "" {
		return
	}
	f, err := os.OpenFile(t.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		panic(fmt.Sprintf("crash log: %v", err)) // a harness that records nothing would prove nothing
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "%d %s\n", t.count, name); err != nil {
		panic(fmt.Sprintf("crash log: %v", err))
	}
}
