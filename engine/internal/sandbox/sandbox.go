package sandbox

import (
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Verb is the first argument with which a program calls [Main].
const Verb = "__sandbox"

// probed is the output of a probe, exitStartError the exit code of a process that could not apply its spec.
const (
	probed         = "the sandbox was applied"
	exitStartError = 126
)

// systemDirs are the directories that are searched for bubblewrap. A project cannot install a program there.
var systemDirs = []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin"}

// Sandbox determines the abilities of this system, once, and wraps programs. It is safe for
// concurrent use.
type Sandbox struct {
	helper     []string
	systemDirs []string
	abi        func() int // returns the Landlock ABI of this kernel

	mu     sync.Mutex
	proven map[proof]sandboxpolicy.Capabilities
}

// proof is the part of a [sandboxpolicy.Policy] that decides whether the system can enforce it.
type proof struct {
	mode    sandboxpolicy.Mode
	network sandboxpolicy.Network
	best    bool
}

// New returns a Sandbox. helper is a command line, usually this program and [Verb], that passes further arguments to
// [Main]. Without a helper nothing can be confined.
func New(helper []string) *Sandbox {
	return &Sandbox{helper: helper, systemDirs: systemDirs, abi: landlockABI, proven: map[proof]sandboxpolicy.Capabilities{}}
}
