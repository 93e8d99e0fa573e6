package verify

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
	// startLimit is the deadline of a plugin's handshake.
	startLimit = 10 * time.Second
	// grace is the grace that the protocol gives a plugin; slack is added for a busy machine.
	grace = 2 * time.Second
	slack = 3 * time.Second
	// markerVariable is in the environment of every plugin and of its children.
	markerVariable = "AGENT_PIPELINES_RUN"
	// maxSocketDir leaves space for the name of the plugin's socket.
	maxSocketDir = 80
	// pollEvery is the interval between scans of ending processes.
	pollEvery = 20 * time.Millisecond
)

// spec is the specification of a process. Hosts read it as JSON.
type spec struct {
	Path   string   `json:"path"`
	Args   []string `json:"args"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Marker string   `json:"marker"`
	Bound  bool     `json:"bound"` // ends with its parent, if the system supports that
}

// handshaking adds a host's environment variables for the handshake.
func (s spec) handshaking(socketDir string) spec {
	s.Env = slices.Concat(s.Env, []string{
		wire.CookieKey + "=" + wire.CookieValue,
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000",
		"PLUGIN_PROTOCOL_VERSIONS=1",
		"PLUGIN_UNIX_SOCKET_DIR=" + socketDir,
	})
	return s
}

// process is a process of the plugin and leader of a group. Its children are found by the marker if
// the system shows environments, else by the group. A process of a host ([foreign]) has no pipes
// here.
type process struct {
	spec   spec
	number int
	cmd    *exec.Cmd // nil for a foreign process
	stdin  *os.File  // its end shows the plugin that the host has ended
	stdout *capture
	stderr *capture
	pumps  sync.WaitGroup
	done   chan struct{} // closed when the leader has ended
}

// stderrWait is the maximum wait for a process's stderr after its end.
const stderrWait = 200 * time.Millisecond

// start starts a process.
func start(s spec) (*process, error) {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends[:i])
			return nil, fmt.Errorf("open pipes: %w", err)
		}
		ends[i], ends[i+1] = r, w
	}
	p := &process{spec: s, stdin: ends[1], stdout: newCapture(ends[2]), stderr: newCapture(ends[4]), done: make(chan struct{})}
	p.cmd = &exec.Cmd{
		Path: s.Path, Args: append([]string{s.Path}, s.Args...), Dir: s.Dir,
		Env:   slices.Concat(s.Env, []string{markerVariable + "=" + s.Marker}),
		Stdin: ends[0], Stdout: ends[3], Stderr: ends[5],
		SysProcAttr: attributes(s.Bound),
	}
	err := p.cmd.Start()
	closeAll([]*os.File{ends[0], ends[3], ends[5]})
	if err != nil {
		closeAll([]*os.File{ends[1], ends[2], ends[4]})
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	p.number = p.cmd.Process.Pid
	p.pumps.Go(p.stdout.pump)
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

// foreign returns a process that a host has started from the specification.
func foreign(s spec, pid int) *process { return &process{spec: s, number: pid} }

func (p *process) pid() int { return p.number }

// ended reports whether the leader has ended.
func (p *process) ended() bool {
	if p.cmd == nil {
		return errors.Is(syscall.Kill(p.number, 0), syscall.ESRCH)
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// exit describes the end of the leader.
func (p *process) exit() string {
	if p.cmd == nil || !p.ended() {
		return "reason unknown"
	}
	return p.cmd.ProcessState.String()
}

// remaining describes the processes that are left, for a report.
func (p *process) remaining() []string {
	left := describeMarked(markerVariable + "=" + p.spec.Marker)
	switch {
	case len(left) > 0:
	case p.cmd != nil && !p.ended():
		left = append(left, fmt.Sprintf("%d (the plugin)", p.pid()))
	case !seesProcesses && groupLives(p.pid()):
		left = append(left, fmt.Sprintf("a member of process group %d", p.pid()))
	}
	return left
}

// awaitGone waits until nothing remains, at most for limit, and returns the rest.
func (p *process) awaitGone(ctx context.Context, limit time.Duration) []string {
	var left []string
	poll(ctx, limit, func() bool {
		left = p.remaining()
		return len(left) == 0
	})
	return left
}

// killAll kills everything that remains and waits for it, so that verifying leaves nothing running.
func (p *process) killAll() {
	for range 3 {
		if p.pid() <= 0 {
			break // a host that started nothing
		}
		// A process that starts during a scan is found by the next one.
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		for _, pid := range markedPIDs(markerVariable + "=" + p.spec.Marker) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(p.awaitGone(context.Background(), time.Second)) == 0 {
			break
		}
	}
	if p.cmd == nil {
		return
	}
	_ = p.stdin.Close()
	p.stdout.close()
	p.stderr.close()
	p.pumps.Wait()
}

// groupLives reports whether a process group has a member.
func groupLives(leader int) bool {
	err := syscall.Kill(-leader, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// poll polls a condition and reports whether it became true.
func poll(ctx context.Context, limit time.Duration, holds func() bool) bool {
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

	mu    sync.Mutex
	data  bytes.Buffer
	total int64
	grown chan struct{} // closed and replaced whenever data arrives
	over  bool
}

func newCapture(from *os.File) *capture { return &capture{from: from, grown: make(chan struct{})} }

func (c *capture) pump() {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.from.Read(buf)
		c.mu.Lock()
		c.data.Write(buf[:min(n, maxCaptured-c.data.Len())])
		c.total += int64(n)
		c.over = err != nil
		close(c.grown)
		c.grown = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// close ends the reading, because a process outside the group may hold the other end open.
func (c *capture) close() { _ = c.from.Close() }

// text returns the text read so far, at most its first 64 KiB.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data.String()
}

// snapshot returns the text, whether the stream has ended, and a channel that is closed when data
// arrives.
func (c *capture) snapshot() (text string, over bool, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data.String(), c.over, c.grown
}

// socketDir creates a directory for a plugin's socket with a sufficiently short path.
func socketDir() (string, error) {
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

// environment removes handshake variables and the marker from an environment.
func environment(from []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return handshakeVariable(name) || name == markerVariable
	})
}

// handshakeVariable reports whether a variable belongs to the handshake and must not reach the
// plugin's children.
func handshakeVariable(name string) bool {
	return name == wire.CookieKey || strings.HasPrefix(name, "PLUGIN_")
}

func newMarker() string { return "verify-" + rand.Text() }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// firstLine splits a text after its first line; complete is false if the line has no end yet.
func firstLine(text string) (line, rest string, complete bool) { return strings.Cut(text, "\n") }
