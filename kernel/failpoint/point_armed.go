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

// armed is made once from the environment; what changes lives inside it.
var armed = &armedProcess{
	trap:  newTrap(os.Getenv("AGENT_PIPELINES_CRASH_AT"), os.Getenv("AGENT_PIPELINES_CRASH_LOG")),
	power: newDiskState(os.Getenv("AGENT_PIPELINES_CRASH_POWER")), defect: os.Getenv("AGENT_PIPELINES_CRASH_DEFECT"),
}

// process is one that may be told to die. Who reaches a point or tells of the disk holds mu, also while dying: nobody gets
// past the point that was asked for.
type armedProcess struct {
	defect string

	mu    sync.Mutex // guards:
	trap  *trap
	power *diskState
}

// Point is where the process may die. Names are "<room>.<act>.<moment>".
func Point(name string) {
	armed.mu.Lock()
	defer armed.mu.Unlock()
	if armed.trap.reach(name) {
		armed.power.losePower()
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

// Defect reports whether the kernel is to be wrong in this way, so that a test can show that it is found out.
func Defect(name string) bool { return armed.defect == name }

// trap counts the points that were reached and knows at which one to die.
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
