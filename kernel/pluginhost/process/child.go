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
	// busyTries and busyPause bound the retries of a start that found the file open for writing:
	// another process may hold it for the moment between its fork and its exec (golang/go#22315).
	busyTries = 3
	busyPause = 20 * time.Millisecond
	// diagnoseTime is how long Diagnose waits for the last words of a process that is ending.
	diagnoseTime = 250 * time.Millisecond
)

// Spec says what to start.
type Spec struct {
	// Path is the program's file, for messages and as argument 0.
	Path string
	// Binary is the same file, opened and verified. Where the system allows it, this very file is
	// executed, whatever Path names by then. The Child only borrows it during Start.
	Binary *os.File
	// Args are the arguments after argument 0. Default none.
	Args []string
	// Env is the environment without the marker variables and what [Child.Configure] adds.
	Env []string
	// Dir is the working directory.
	Dir string
	// Box confines the process, by Sandbox. Nil: it is not confined.
	Box     *sandboxpolicy.Policy
	Sandbox sandboxpolicy.Confiner
	// Temp is the directory for temporary files of a process in a box.
	Temp string
	// Marker and Number are what the marker variables say.
	Marker Marker
	Number int
	// Table is where those are looked for that left the group. Nil: a table of its own.
	Table *Table
	// OnLeak is told of the processes that had left the group, when they have been ended. Nil: nobody is.
	OnLeak func([]Survivor)
}

// Child is one plugin process. It implements runner.Runner. All methods are safe for concurrent use;
// those about a running process need a Start that succeeded.
type Process struct {
	spec      Spec
	spawn     *Spawner
	socketDir string
	cmd       *sandboxpolicy.Command // set by Start
	wait      sync.WaitGroup
	done      chan struct{}

	mu      sync.Mutex
	io      *stdio
	process *os.Process
	killed  bool   // by Kill, perhaps before the start
	reaped  bool   // the number may belong to somebody else by now
	exit    string // in words, once done is closed
}

var _ runner.Runner = (*Process)(nil)

// New prepares a child; nothing is started or opened yet.
func New(spawner *Spawner, spec Spec) *Process {
	if spec.Table == nil {
		spec.Table = &Table{}
	}
	return &Process{spec: spec, spawn: spawner, done: make(chan struct{})}
}

// Configure adds what go-plugin wants in the environment and says in which directory alone the plugin
// may open its socket. It is called before Start.
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
	if err != nil {
		cmd.End()
		return nil, err
	}
	c.cmd = cmd
	return p, nil
}

// command is what is started: the program, or what puts its box around it.
func (c *Process) command(ctx context.Context) (*sandboxpolicy.Command, error) {
	p := sandboxpolicy.Program{
		Path: c.spec.Path, File: executable(c.spec), Args: c.spec.Args, Env: slices.Concat(c.spec.Env, c.markers()),
	}
	if c.spec.Box == nil {
		return sandboxpolicy.Unconfined(p), nil
	}
	p.Temp, p.Write = c.spec.Temp, []string{c.socketDir}
	return c.spec.Sandbox.Wrap(ctx, *c.spec.Box, p)
}

func (c *Process) startProcess(ctx context.Context, cmd *sandboxpolicy.Command, files []*os.File) (*os.Process, error) {
	attr := &os.ProcAttr{Dir: c.spec.Dir, Env: cmd.Env, Files: slices.Concat(files, cmd.Files), Sys: attributes()}
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

func (c *Process) markers() []string {
	return []string{
		MarkerVariable + "=" + c.spec.Marker.String(),
		ProcessVariable + "=" + strconv.Itoa(c.spec.Number),
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

// reap waits for the end of the process and then ends all that is left of it.
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
	c.cmd.End()
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

// Exit says how the process ended ("exit status 1", "signal: killed"), "" while it runs.
func (c *Process) Exit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}

// FirstLine is the first line of stdout so far, without white space around it.
func (c *Process) FirstLine() string {
	if s := c.stdio(); s != nil {
		return s.first.text()
	}
	return ""
}

// Tail is the end of stderr so far, or of a program in Go that crashed the beginning of its report: at most [StderrKept] bytes.
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

// PID is the process id, 0 before Start.
func (c *Process) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.Pid
}

// ID is the process id as text, "" before Start.
func (c *Process) ID() string {
	if pid := c.PID(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return ""
}

// Name is the program's path.
func (c *Process) Name() string { return c.spec.Path }

// Stdout yields the first line of the plugin's stdout and then ends; the rest is discarded.
func (c *Process) Stdout() io.ReadCloser { return endOfFile{c.stdio().handshake} }

// Stderr yields all of the plugin's stderr.
func (c *Process) Stderr() io.ReadCloser { return endOfFile{c.stdio().logs} }

// Wait waits for the end of the process and its pipes. How it ended is not an error; see [Child.Exit].
func (c *Process) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		c.wait.Wait()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill ends the process group at once, or as soon as it is started. A group that is gone already is a
// success.
func (c *Process) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.process == nil || c.reaped {
		return nil
	}
	return killGroup(c.process.Pid)
}

// Diagnose gives a process that is ending a moment to say why, and returns the end of its stderr.
func (c *Process) Diagnose(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTime)
	defer cancel()
	_ = c.Wait(ctx)
	return c.Tail()
}

// HostToPlugin is the identity: both sides see the same files.
func (c *Process) HostToPlugin(network, address string) (hostNet, hostAddr string, err error) {
	return network, address, nil
}
