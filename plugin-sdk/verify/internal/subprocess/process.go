package subprocess

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

const (
	// StartLimit is the deadline of a plugin's handshake.
	StartLimit = 10 * time.Second
	// Grace is the grace that the protocol gives a plugin.
	Grace = 2 * time.Second
	// Slack is added to a grace for a busy machine.
	Slack = 3 * time.Second
	// MarkerVariable is the environment variable that marks every plugin and its children.
	MarkerVariable = "AGENT_PIPELINES_RUN"
	// maxSocketDir is the maximum length of a socket's directory; it leaves space for the socket's name.
	maxSocketDir = 80
	// pollEvery is the interval between scans of ending processes.
	pollEvery = 20 * time.Millisecond
)

// Spec is the specification of a process. Hosts read it as JSON.
type Spec struct {
	Path   string   `json:"path"`
	Args   []string `json:"args"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Marker string   `json:"marker"`
	Bound  bool     `json:"bound"` // ends with its parent, if the system supports that
}

// WithHandshake adds a host's environment variables for the handshake.
func (s Spec) WithHandshake(socketDir string) Spec {
	s.Env = slices.Concat(s.Env, []string{
		wire.CookieKey + "=" + wire.CookieValue,
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000",
		"PLUGIN_PROTOCOL_VERSIONS=1",
		"PLUGIN_UNIX_SOCKET_DIR=" + socketDir,
	})
	return s
}

// Process is a process of the plugin and leader of a group. Its children are found by the marker if
// the system shows environments, else by the group. A process that a host started ([Foreign]) has
// no pipes to this program.
type Process struct {
	Spec   Spec
	Number int
	cmd    *exec.Cmd // nil for a foreign process
	Stdin  *os.File  // its end shows the plugin that the host has ended
	Stdout *capture
	stderr *capture
	pumps  sync.WaitGroup
	done   chan struct{} // closed when the leader has ended
}

// stderrWait is the maximum wait for a process's stderr after its end.
const stderrWait = 200 * time.Millisecond

// Start starts a process. The caller ends it by [Process.KillAll].
func Start(s Spec) (*Process, error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends[:i])
			return nil, fmt.Errorf("open pipes: %w", err)
		}
		ends[i], ends[i+1] = r, w
	}
	p := &Process{Spec: s, Stdin: ends[1], Stdout: newCapture(ends[2]), stderr: newCapture(ends[4]), done: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: s.Path, Args: append([]string{s.Path}, s.Args...), Dir: s.Dir,
		Env:   slices.Concat(s.Env, []string{MarkerVariable + "=" + s.Marker}),
		Stdin: ends[0], Stdout: ends[3], Stderr: ends[5],
		SysProcAttr: attributes(s.Bound),
	}
	err := p.cmd.Start()
	closeAll([]*os.File{ends[0], ends[3], ends[5]})
	if err != nil {
		closeAll([]*os.File{ends[1], ends[2], ends[4]})
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	p.Number = p.cmd.Process.Pid
	p.pumps.Go(p.Stdout.pump)
	drained := make(chan struct{})
	p.pumps.Go(func() {
		defer close(drained)
		p.stderr.pump()
	})
	p.pumps.Go(func() {
		defer close(p.done)
		_ = p.cmd.Wait() // ProcessState holds the result
		select {         // the rest of stderr may be in the pipe, which a child can hold open
		case <-drained:
		case <-time.After(stderrWait):
		}
	})
	return p, nil
}

// Foreign returns a process that this program did not start; pid is 0 if there is none, or none yet.
func Foreign(s Spec, pid int) *Process { return &Process{Spec: s, Number: pid} }

// Pid returns the number of the process.
func (p *Process) Pid() int { return p.Number }

// Ended reports whether the leader has ended.
func (p *Process) Ended() bool {
	if p.cmd == nil {
		return p.Number > 0 && errors.Is(syscall.Kill(p.Number, 0), syscall.ESRCH)
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Exit describes the end of the leader.
func (p *Process) Exit() string {
	if p.cmd == nil || !p.Ended() {
		return "reason unknown"
	}
	return p.cmd.ProcessState.String()
}

// remaining describes the processes that are left, for a report.
func (p *Process) remaining() []string {
	left := DescribeMarked(MarkerVariable + "=" + p.Spec.Marker)
	switch {
	case len(left) > 0:
	case p.cmd != nil && !p.Ended():
		left = append(left, fmt.Sprintf("%d (the plugin)", p.Pid()))
	case !SeesProcesses && groupLives(p.Pid()):
		left = append(left, fmt.Sprintf("a member of process group %d", p.Pid()))
	}
	return left
}

// AwaitGone waits until no process remains, at most for limit, and describes the remaining processes.
func (p *Process) AwaitGone(ctx context.Context, limit time.Duration) []string {
	var left []string
	Poll(ctx, limit, func() bool {
		left = p.remaining()
		return len(left) == 0
	})
	return left
}

// KillAll kills the remaining processes and waits for their end, so that verifying leaves nothing running.
func (p *Process) KillAll() {
	for range 3 {
		if p.Pid() <= 0 {
			break // nothing was started
		}
		// A process that starts during a scan is found by the next scan.
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
		for _, pid := range MarkedPIDs(MarkerVariable + "=" + p.Spec.Marker) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(p.AwaitGone(context.Background(), time.Second)) == 0 {
			break
		}
	}
	if p.cmd == nil {
		return
	}
	_ = p.Stdin.Close()
	p.Stdout.close()
	p.stderr.close()
	p.pumps.Wait()
}

// groupLives reports whether a process group has a member.
func groupLives(leader int) bool {
	err := syscall.Kill(-leader, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Poll polls a condition until limit or the end of ctx, and reports whether it became true.
func Poll(ctx context.Context, limit time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return holds()
		case <-ctx.Done():
			return false
		}
	}
}

// maxCaptured is the maximum kept size of a stream, in bytes.
const maxCaptured = 64 << 10

// capture reads a stream until its end and keeps its beginning.
type capture struct {
	from *os.File

	Mu    sync.Mutex
	data  bytes.Buffer
	Total int64
	grown chan struct{} // closed and replaced when data arrives or the stream ends
	over  bool
}

func newCapture(from *os.File) *capture { return &capture{from: from, grown: make(chan struct{})} }

func (c *capture) pump() {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.from.Read(buf)
		c.Mu.Lock()
		c.data.Write(buf[:min(n, maxCaptured-c.data.Len())])
		c.Total += int64(n)
		c.over = err != nil
		close(c.grown)
		c.grown = make(chan struct{})
		c.Mu.Unlock()
		if err != nil {
			return
		}
	}
}

// close ends the reading, because a process outside the group may hold the other end open.
func (c *capture) close() { _ = c.from.Close() }

// Text returns the text read so far, at most its first 64 KiB.
func (c *capture) Text() string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.data.String()
}

// Snapshot returns the text, whether the stream has ended, and a channel that is closed when data
// arrives or the stream ends.
func (c *capture) Snapshot() (text string, over bool, more <-chan struct{}) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.data.String(), c.over, c.grown
}

// SocketDir creates a directory for a plugin's socket with a sufficiently short path.
func SocketDir() (string, error) {
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if len(base)+len("/ap-verify-0123456789/plugin-dir0123456789") > maxSocketDir { // go-plugin adds the second part
			continue
		}
		dir, err := os.MkdirTemp(base, "ap-verify-")
		if err != nil {
			return "", fmt.Errorf("make a directory for the socket: %w", err)
		}
		return filepath.EvalSymlinks(dir)
	}
	return "", errors.New("no temporary directory is short enough for a unix socket; set TMPDIR to a short path such as /tmp")
}

// Environment removes handshake variables and the marker from an environment.
func Environment(from []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return HandshakeVariable(name) || name == MarkerVariable
	})
}

// HandshakeVariable reports whether a variable belongs to the handshake and must not reach the
// plugin's children.
func HandshakeVariable(name string) bool {
	return name == wire.CookieKey || strings.HasPrefix(name, "PLUGIN_")
}

// NewMarker returns a new marker for a process and its children.
func NewMarker() string { return "verify-" + rand.Text() }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
