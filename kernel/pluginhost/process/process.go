package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

const (
	// busyTries and busyPause bound the retries of a start that found the file open for writing. Another process may hold
	// the file between its fork and its exec (golang/go#22315).
	busyTries = 3
	busyPause = 20 * time.Millisecond
	// diagnoseTime is how long Diagnose waits for the last output of a process that is ending.
	diagnoseTime = 250 * time.Millisecond
)

// Spec describes the process to start.
type Spec struct {
	// Path is the program's file, for messages and as argument 0.
	Path string
	// Binary is the same file, opened and verified. Where the system allows it, this very file is executed, even if Path
	// leads to another file. The Process uses it only during Start.
	Binary *os.File
	// Args are the arguments after argument 0. Default none.
	Args []string
	// Env is the environment without the marker variables and those of [Process.Configure].
	Env []string
	// Dir is the working directory.
	Dir string
	// Policy is the policy with which Sandbox confines the process. Nil: it is not confined.
	Policy  *sandboxpolicy.Policy
	Sandbox sandboxpolicy.Confiner
	// Temp is the directory for temporary files of a confined process.
	Temp string
	// Marker and Number are the values of the marker variables.
	Marker Marker
	Number int
	// Table searches for processes that left the group. Nil: [New] makes a table.
	Table *Table
	// OnLeak is called with the processes that had left the group, after they were ended. Nil: none.
	OnLeak func([]Survivor)
}

// Process is one plugin process. It implements runner.Runner. All methods are safe for concurrent use; those
// about a running process need a successful Start.
type Process struct {
	spec      Spec
	spawn     *Spawner
	socketDir string
	wait      sync.WaitGroup
	done      chan struct{}

	mu      sync.Mutex
	io      *stdio
	process *os.Process
	killed  bool   // by Kill, perhaps before the start
	reaped  bool   // the number may belong to another process by now
	exit    string // in words, set before done is closed
}

var _ runner.Runner = (*Process)(nil)

// New returns a process; nothing is started or opened yet.
func New(spawner *Spawner, spec Spec) *Process {
	if spec.Table == nil {
		spec.Table = &Table{}
	}
	return &Process{spec: spec, spawn: spawner, done: make(chan struct{})}
}

// Configure adds go-plugin's environment variables and sets the only directory in which the plugin may open
// its socket. It is called before Start.
func (c *Process) Configure(env []string, socketDir string) {
	c.spec.Env = append(slices.Clone(c.spec.Env), env...)
	c.socketDir = socketDir
}

// Start starts the process. Cancelling ctx afterwards has no effect on it.
func (c *Process) Start(ctx context.Context) error {
	host, child, err := openStdio()
	if err != nil {
		return fmt.Errorf("open pipes for %s: %w", c.spec.Path, err)
	}
	defer closeAll(child)
	p, err := c.exec(ctx, child)
	if err != nil {
		host.abandon()
		return err
	}
	setTag(p.Pid, newTag(c.spec.Marker, c.spec.Number))
	host.pump()
	c.mu.Lock()
	c.process, c.io = p, host
	if c.killed {
		_ = killGroup(p.Pid)
	}
	c.mu.Unlock()
	c.wait.Go(func() { c.reap(p) })
	return nil
}

func (c *Process) exec(ctx context.Context, files []*os.File) (*os.Process, error) {
	cmd, err := c.command(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.startProcess(ctx, cmd, files)
	cmd.Started()
	return p, err
}

// command returns the command line: of the program, or of the program that confines it.
func (c *Process) command(ctx context.Context) (*sandboxpolicy.Command, error) {
	p := sandboxpolicy.Program{
		Path: c.spec.Path, File: executable(c.spec.Binary), Args: c.spec.Args,
		Env: append(slices.Clone(c.spec.Env), MarkerVariable+"="+c.spec.Marker.String(), ProcessVariable+"="+strconv.Itoa(c.spec.Number)),
	}
	if c.spec.Policy == nil {
		return sandboxpolicy.Unconfined(p), nil
	}
	p.Temp, p.Write = c.spec.Temp, []string{c.socketDir}
	return c.spec.Sandbox.Wrap(ctx, *c.spec.Policy, p)
}

func (c *Process) startProcess(ctx context.Context, cmd *sandboxpolicy.Command, files []*os.File) (*os.Process, error) {
	attr := &os.ProcAttr{Dir: c.spec.Dir, Env: cmd.Env, Files: slices.Concat(files, cmd.Files), Sys: attributes()}
	if cmd.Attributes != nil {
		cmd.Attributes(attr.Sys)
	}
	for try := 1; ; try++ {
		p, err := c.spawn.start(cmd.Name, cmd.Args, attr)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || try > busyTries {
			return nil, withPath(err, c.spec.Path)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(busyPause):
		}
	}
}

// withPath puts the program's own path into the error of an exec through a descriptor.
func withPath(err error, path string) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return &os.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	return fmt.Errorf("start %s: %w", path, err)
}

// reap waits for the end of the process and then ends its descendants.
func (c *Process) reap(p *os.Process) {
	reap := awaitExit(p)
	c.mu.Lock()
	_ = killGroup(p.Pid)
	state, err := reap()
	c.reaped = true
	c.exit = exitText(state, err)
	c.mu.Unlock()
	if left := c.spec.Table.endLeaked(c.spec.Marker, c.spec.Number); len(left) > 0 && c.spec.OnLeak != nil {
		c.spec.OnLeak(left)
	}
	c.io.finish()
	close(c.done)
}

func exitText(state *os.ProcessState, err error) string {
	if err != nil {
		return err.Error()
	}
	return state.String()
}

// Done is closed when the process, its group and its pipes are gone.
func (c *Process) Done() <-chan struct{} { return c.done }

// Exit returns how the process ended ("exit status 1", "signal: killed"), "" while it runs.
func (c *Process) Exit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}

// FirstLine returns the first line of stdout so far, without surrounding white space.
func (c *Process) FirstLine() string {
	if s := c.stdio(); s != nil {
		return s.first.text()
	}
	return ""
}

// Tail returns the end of stderr so far, or the beginning of the report of a crashed Go program: at most
// [StderrKept] bytes.
func (c *Process) Tail() string {
	if s := c.stdio(); s != nil {
		return s.tail.String()
	}
	return ""
}

func (c *Process) stdio() *stdio {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.io
}

// PID returns the process id, 0 before Start.
func (c *Process) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.Pid
}

// ID returns the process id as text, "" before Start.
func (c *Process) ID() string {
	if pid := c.PID(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return ""
}

// Name returns the program's path.
func (c *Process) Name() string { return c.spec.Path }

// Stdout returns the first line of the plugin's stdout; the rest is discarded.
func (c *Process) Stdout() io.ReadCloser { return endOfFile{c.stdio().handshake} }

// Stderr returns all of the plugin's stderr.
func (c *Process) Stderr() io.ReadCloser { return endOfFile{c.stdio().logs} }

// Wait waits for the end of the process and its pipes. A bad exit is not an error; see [Process.Exit].
func (c *Process) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		c.wait.Wait()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill ends the process group at once, or as soon as it is started. A group that is already gone is a success.
func (c *Process) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.process == nil || c.reaped {
		return nil
	}
	return killGroup(c.process.Pid)
}

// Diagnose waits a moment for the last output of a process that is ending, and returns the end of its stderr.
func (c *Process) Diagnose(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTime)
	defer cancel()
	_ = c.Wait(ctx)
	return c.Tail()
}

// HostToPlugin returns its arguments, since both sides see the same files.
func (c *Process) HostToPlugin(network, address string) (hostNet, hostAddr string, err error) {
	return network, address, nil
}

// HasEnded reports whether done, the channel of a process, is closed.
func HasEnded(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// AwaitEnd waits until done is closed, the limit is over or ctx ends, and reports whether done is closed.
func AwaitEnd(ctx context.Context, done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// killGroup ends the process group that pid leads; a missing group is a success.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
