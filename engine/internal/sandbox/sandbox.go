package sandbox

import (
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

// systemDirs are the directories that are searched for bubblewrap. A project cannot install a program there.
var systemDirs = []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin"}

// Sandbox determines the abilities of this system, once, and wraps programs. It is safe for
// concurrent use. These things are not covered:
//
//   - Under [sandboxpolicy.Workspace] the names, sizes and modes of all files can be seen (stat), since Landlock checks
//     only the opening of files. Mode, owner, times and extended attributes of a file outside can be changed by a user
//     who has the right to, such as root. Under [sandboxpolicy.Strict] files outside do not exist.
//   - Under [sandboxpolicy.Workspace] the machine's processes and their arguments can be listed. The same user's
//     shared memory and message queues (System V) can be used. The priority and processors of that user's processes
//     can be changed. Under [sandboxpolicy.Strict] all this is limited to the inside of the sandbox.
//   - Under [sandboxpolicy.Workspace] with the network on, a process can connect to Unix sockets that have a path,
//     such as an ssh agent's socket. Landlock prevents this from ABI 9 on. Abstract sockets cannot be reached.
//   - With the network on, the whole network can be reached, including the machine's own services. Under
//     [sandboxpolicy.Strict] abstract sockets can be reached as well if Landlock is older than ABI 6.
//   - [sandboxpolicy.Policy.Memory] and CPU apply to each process, not to all together.
//   - Under [sandboxpolicy.Workspace] an ordinary user's [sandboxpolicy.Policy.Processes] is added to the number of the
//     user's tasks at the start; the limit applies to all tasks of the user.
//   - A process that leaves its group and clears its environment can survive under [sandboxpolicy.Workspace].
//   - In a writable directory .claude, and git's configuration and hooks, are protected. Other repositories below it are
//     not, nor is a file that a program outside replaces meanwhile. Under [sandboxpolicy.Workspace] the protection needs a
//     mount namespace ([sandboxpolicy.Capabilities.Guarded]), which some systems refuse to ordinary users.
//   - Debuggers (ptrace), other sandboxes and programs of another architecture do not run inside a sandbox. No program
//     gains rights inside, as sudo does elsewhere.
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
	tools   sandboxpolicy.Network
	best    bool
	guarded bool
}

// New returns a Sandbox. helper is a command line, usually this program and [confine.Verb], that passes further arguments to
// [confine.Main]. Without a helper nothing can be confined.
func New(helper []string) *Sandbox {
	return &Sandbox{helper: helper, systemDirs: systemDirs, abi: confine.ABI, proven: map[proof]sandboxpolicy.Capabilities{}}
}
