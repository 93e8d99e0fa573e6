package sandboxpolicy

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Mode is a mode of confinement.
type Mode string

// None is a mode of [Capabilities], never of a [Policy]. The engine enforces Workspace with Landlock and Strict with
// bubblewrap.
const (
	None      Mode = "none"
	Workspace Mode = "workspace"
	Strict    Mode = "strict"
)

// Network is the network access of a process.
type Network = confine.Network

// With Off a process reaches no network and accepts connections on its own Unix sockets. Loopback is an interface
// of the sandbox on which its processes reach each other; it needs mode [Strict].
const (
	On       = confine.On
	Off      = confine.Off
	Loopback = confine.Loopback
)

// Policy is the confinement of one process and its children, fully resolved. All paths are absolute and exist. The
// zero value is not valid: Mode and Network are required.
type Policy struct {
	Mode    Mode
	Network Network
	// Tools is the network of the tools of a plugin that confines them itself (package confine); "" for other plugins. Off
	// means Loopback where the system has it.
	Tools Network
	// BestEffort uses the best confinement of this system and reports missing parts in [Capabilities]. Without
	// BestEffort, the start is refused if a part is missing. It is only for mode [Workspace].
	BestEffort bool
	// Read are files and directories that the process may read and execute, besides the system directories of every
	// sandbox. The process may also change the files and directories in Write.
	Read, Write []string
	// WorkDir is the working directory. The process may read it.
	WorkDir string
	// Home is the user's home directory, which is hidden; "" for none.
	Home string
	// Caches names the project's own caches of compilers and package managers that the process uses; "" for none. With a
	// name it may also read the user's toolchains. An agent can poison a cache: what checks its work uses another one.
	Caches string
	// Memory limits the data of each process, in bytes. 0: no limit.
	Memory int64
	// Processes limits the number of simultaneous processes and threads. 0: no limit.
	Processes int
	// CPU limits the processor time of each process, rounded up to seconds. 0: no limit.
	CPU time.Duration
}

// Capabilities is the confinement of a process, for the journal and the status.
type Capabilities struct {
	Mode    Mode    `json:"mode"`
	Network Network `json:"network"`
	// Tools is the network of the plugin's tools; "" if they have that of the process.
	Tools Network `json:"tools_network,omitempty"`
	// Landlock is the ABI version; 0 for none.
	Landlock int  `json:"landlock,omitempty"`
	Seccomp  bool `json:"seccomp,omitempty"`
	// Guarded: the process cannot change .claude, and git's configuration and hooks, in a directory that it may write.
	Guarded bool `json:"guarded,omitempty"`
	// Bubblewrap is the version of bwrap.
	Bubblewrap string  `json:"bubblewrap,omitempty"`
	Memory     int64   `json:"memory,omitempty"`
	Processes  int     `json:"processes,omitempty"`
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	// Missing lists the parts of a [Policy] with BestEffort that this system cannot enforce; empty for none.
	Missing []string `json:"lacks,omitempty"`
}

// Confiner confines processes. It is safe for concurrent use.
type Confiner interface {
	// Check returns the confinement of a process under the policy. A policy that this system cannot enforce is a
	// failure of kind sandbox_unavailable, except with [Policy.BestEffort].
	Check(ctx context.Context, p Policy) (Capabilities, error)
	// Wrap returns the command that starts the program under the policy. The caller calls Started after the start.
	Wrap(ctx context.Context, p Policy, program Program) (*Command, error)
}

// Unavailable is the [Confiner] of a program that cannot confine processes.
type Unavailable struct{}

// Check refuses every policy except a policy with [Policy.BestEffort].
func (Unavailable) Check(_ context.Context, p Policy) (Capabilities, error) {
	return p.Refuse(failure.New(failure.SandboxUnavailable, "sandbox %s: this program has no helper that confines its processes", p.Mode).
		WithHint("let the program confine its plugins: engine.WithSandboxHelper"))
}

// Wrap returns the unconfined program where [Policy.BestEffort] allows it.
func (u Unavailable) Wrap(ctx context.Context, p Policy, program Program) (*Command, error) {
	if _, err := u.Check(ctx, p); err != nil {
		return nil, err
	}
	return Unconfined(program), nil
}

// Refuse returns the error of a policy that cannot be enforced, or with [Policy.BestEffort] the capabilities of an
// unconfined process, which name the reason.
func (p Policy) Refuse(reason *failure.Error) (Capabilities, error) {
	if !p.BestEffort {
		return Capabilities{}, reason
	}
	return Capabilities{Mode: None, Network: On, Missing: []string{reason.Message}}, nil
}

// Program is the program to confine.
type Program struct {
	// Path is the program's file and argument 0.
	Path string
	// File is the open file to execute, even if Path names another file by then. It is nil for a script, because the
	// interpreter opens a script by its path. The caller closes it.
	File *os.File
	// Args are the arguments after argument 0.
	Args []string
	// Env is the environment.
	Env []string
	// Temp is the process's own directory for temporary files.
	Temp string
	// Write are more paths that the process may change.
	Write []string
}

// Command is the command to start instead of a [Program].
type Command struct {
	// Name is the file to execute. Args are all its arguments.
	Name string
	Args []string
	Env  []string
	// Files are the descriptors of the process from 3 on.
	Files []*os.File
	// Attributes completes the attributes with which the process is started. Nil: there is nothing to add.
	Attributes func(*syscall.SysProcAttr)

	// OpenFiles are the Files that were opened for this command; [Command.Started] closes them.
	OpenFiles []*os.File
}

// Started closes the files that were opened for the process. It is also called if the start fails.
func (c *Command) Started() {
	for _, f := range c.OpenFiles {
		_ = f.Close()
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
