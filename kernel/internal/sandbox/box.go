package sandbox

import "time"

// Mode is a way to confine.
type Mode string

// The modes. None is the mode of an [Obtained], never of a [Box].
const (
	None      Mode = "none"
	Workspace Mode = "workspace"
	Strict    Mode = "strict"
)

// Network says whom a process may reach.
type Network string

// The networks. With Off it reaches nobody and accepts connections on Unix sockets of its own. Loopback
// is an interface of the box's own on which its processes reach each other; it needs mode [Strict].
const (
	On       Network = "on"
	Off      Network = "off"
	Loopback Network = "loopback"
)

// Box is the confinement of one process and all that it starts, with everything resolved. All paths are
// absolute and exist. The zero value is no valid Box: Mode and Network must be said.
type Box struct {
	Mode    Mode
	Network Network
	// Best takes the best that this system has, and [Obtained] says what lacks, where otherwise the start is
	// refused. It is for mode [Workspace].
	Best bool
	// Read are files and directories that may be read, and programs in them executed, beyond [Base]; what
	// lies in Write may also be changed.
	Read, Write []string
	// WorkDir is the working directory. It may be read.
	WorkDir string
	// Home is the user's home directory, which is hidden; "" for none.
	Home string
	// Memory limits the data of each process, in bytes. 0: no limit.
	Memory int64
	// Processes limits how many processes and threads run at the same time. 0: no limit.
	Processes int
	// CPU limits the processor time of each process; parts of a second count as one. 0: no limit.
	CPU time.Duration
}

// Obtained is what holds for a process, as the journal and status show it.
type Obtained struct {
	Mode    Mode    `json:"mode"`
	Network Network `json:"network"`
	// Landlock is the ABI in use, 0 for none.
	Landlock int  `json:"landlock,omitempty"`
	Seccomp  bool `json:"seccomp,omitempty"`
	// Bubblewrap is its version.
	Bubblewrap string  `json:"bubblewrap,omitempty"`
	Memory     int64   `json:"memory,omitempty"`
	Processes  int     `json:"processes,omitempty"`
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	// Lacks says what of a [Box] with Best this system cannot do; empty if it holds in full.
	Lacks []string `json:"lacks,omitempty"`
}
