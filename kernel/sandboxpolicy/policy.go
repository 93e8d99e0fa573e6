package sandboxpolicy

import (
	"context"
	"os"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Mode is a way to confine.
type Mode string

// The modes. None is the mode of an [Capabilities], never of a [Policy].
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

// Policy is the confinement of one process and all that it starts, with everything resolved. All paths are
// absolute and exist. The zero value is no valid Policy: Mode and Network must be said.
type Policy struct {
	Mode    Mode
	Network Network
	// Best takes the best that this system has, and [Capabilities] says what lacks, where otherwise the start is
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

// Capabilities is what holds for a process, as the journal and status show it.
type Capabilities struct {
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
	// Lacks says what of a [Policy] with Best this system cannot do; empty if it holds in full.
	Lacks []string `json:"lacks,omitempty"`
}

// Confiner confines processes. It is safe for concurrent use.
type Confiner interface {
	// Check reports what holds for a process under the policy. A policy that this system cannot enforce is a failure
	// of kind sandbox_unavailable, except with [Policy.Best].
	Check(ctx context.Context, p Policy) (Capabilities, error)
	// Wrap returns the command that starts the program under the policy. The caller calls Started after the start and
	// End after the process's end.
	Wrap(ctx context.Context, p Policy, program Program) (*Command, error)
}

// Unavailable is the [Confiner] of a program that cannot confine anything.
type Unavailable struct{}

// Check refuses every policy except one with [Policy.Best].
func (Unavailable) Check(_ context.Context, p Policy) (Capabilities, error) {
	return p.Refuse(failure.New(failure.SandboxUnavailable, "sandbox %s: this program has not said how a process of its own becomes a confined one", p.Mode).
		WithHint("let the program confine its plugins: engine.WithSandboxHelper"))
}

// Wrap returns the unconfined program where [Policy.Best] allows it.
func (u Unavailable) Wrap(ctx context.Context, p Policy, program Program) (*Command, error) {
	if _, err := u.Check(ctx, p); err != nil {
		return nil, err
	}
	return Unconfined(program), nil
}

// Refuse returns the error of a policy that cannot be enforced, or with [Policy.Best] the capabilities of an unconfined
// process, which name the reason.
func (p Policy) Refuse(reason *failure.Error) (Capabilities, error) {
	if !p.Best {
		return Capabilities{}, reason
	}
	return Capabilities{Mode: None, Network: On, Lacks: []string{reason.Message}}, nil
}

// Program is what is to run in a box.
type Program struct {
	// Path is its file, and argument 0.
	Path string
	// File is the file, opened: it is what is executed, whatever Path names by then. Nil for a script, whose
	// interpreter opens it again by its path. It is only borrowed.
	File *os.File
	// Args are the arguments after argument 0.
	Args []string
	// Env is the environment.
	Env []string
	// Temp is a directory of the process's own for temporary files.
	Temp string
	// Write are further directories of its own.
	Write []string
}

// Command is what is started in the place of a [Program].
type Command struct {
	// Name is the file to execute, Args are all its arguments.
	Name string
	Args []string
	Env  []string
	// Files are the process's descriptors from 3 on.
	Files []*os.File

	// Opened are those of Files that were opened for this command.
	Opened []*os.File
	// Cleanup ends the rest of the confinement after the process's end. Nil: nothing is left.
	Cleanup func()
}

// Started closes what the process has taken over by its start, or never will.
func (c *Command) Started() {
	for _, f := range c.Opened {
		_ = f.Close()
	}
}

// End ends what is left of the process after its end and removes what was made for it. It is called once,
// also where nothing was started.
func (c *Command) End() {
	if c.Cleanup != nil {
		c.Cleanup()
	}
}

// Unconfined returns the command of a program without a sandbox.
func Unconfined(p Program) *Command {
	c := &Command{Name: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env}
	if p.File != nil {
		c.Name, c.Files = "/proc/self/fd/3", []*os.File{p.File}
	}
	return c
}
