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
	// startLimit is how long a plugin has for its handshake.
	startLimit = 10 * time.Second
	// grace is a plugin's grace everywhere; slack is what a busy machine gets besides.
	grace = 2 * time.Second
	slack = 3 * time.Second
	// markerVariable is in the environment of every plugin and of what it starts.
	markerVariable = "AGENT_PIPELINES_RUN"
	// maxSocketDir leaves a plugin room for the name of its socket.
	maxSocketDir = 80
	// pollEvery is the pause between two looks at processes that are to end.
	pollEvery = 20 * time.Millisecond
)

// spec says what to start and with which surroundings. Host processes read it as JSON.
type spec struct {
	Path   string   `json:"path"`
	Args   []string `json:"args"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Marker string   `json:"marker"`
	Bound  bool     `json:"bound"` // dies with its parent where the system can do that
}

// handshaking adds what a host puts into the environment for the handshake.
func (s spec) handshaking(socketDir string) spec {
	s.Env = slices.Concat(s.Env, []string{
		wire.CookieKey + "=" + wire.CookieValue,
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000",
		"PLUGIN_PROTOCOL_VERSIONS=1",
		"PLUGIN_UNIX_SOCKET_DIR=" + socketDir,
	})
	return s
}

// process is one process of the plugin, the leader of a group. All that it started is found by its marker
// where the system tells environments, else by its group. One that a host of ours started ([foreign]) has
// no pipes here.
type process struct {
	spec   spec
	number int
	cmd    *exec.Cmd // nil for a foreign one
	stdin  *os.File  // its end tells the plugin that the host is gone
	stdout *capture
	stderr *capture
	pumps  sync.WaitGroup
	done   chan struct{} // closed when the leader has ended
}

// lastWordsTime is how long what a process wrote to stderr is waited for after its end.
const lastWordsTime = 200 * time.Millisecond

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
		_ = p.cmd.Wait() // how it ended is in ProcessState
		select {         // its last words may still be in the pipe, which a child can hold open
		case <-drained:
		case <-time.After(lastWordsTime):
		}
	})
	return p, nil
}

// foreign is a process that somebody else started as the specification says.
func foreign(s spec, pid int) *process { return &process{spec: s, number: pid} }

func (p *process) pid() int { return p.number }

// ended says whether the leader has.
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

// exit says how the leader ended, once it has.
func (p *process) exit() string {
	if p.cmd == nil || !p.ended() {
		return "nobody knows how"
	}
	return p.cmd.ProcessState.String()
}

// remains are what is left of the process and of all that it started, as words for a report.
func (p *process) remains() []string {
	left := marked(markerVariable + "=" + p.spec.Marker)
	switch {
	case len(left) > 0:
	case p.cmd != nil && !p.ended():
		left = append(left, fmt.Sprintf("%d (the plugin)", p.pid()))
	case !seesProcesses && groupLives(p.pid()):
		left = append(left, fmt.Sprintf("a member of process group %d", p.pid()))
	}
	return left
}

// vanish waits until nothing remains, at most for limit, and returns what still does.
func (p *process) vanish(ctx context.Context, limit time.Duration) []string {
	var left []string
	until(ctx, limit, func() bool {
		left = p.remains()
		return len(left) == 0
	})
	return left
}

// clean ends everything that remains, so that verifying leaves nothing behind, and waits for it.
func (p *process) clean() {
	for range 3 {
		if p.pid() <= 0 {
			break // a host that started nothing
		}
		// What starts while it is looked for is found by the next look.
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
		for _, pid := range markedPIDs(markerVariable + "=" + p.spec.Marker) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(p.vanish(context.Background(), time.Second)) == 0 {
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

// groupLives says whether a process group has a member.
func groupLives(leader int) bool {
	err := syscall.Kill(-leader, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// until asks for a condition again and again, and says whether it came to hold.
func until(ctx context.Context, limit time.Duration, holds func() bool) bool {
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

// captured is how much of a stream is kept.
const captured = 64 << 10

// capture reads one of the process's streams for as long as it is open and keeps its beginning.
type capture struct {
	from *os.File

	mu    sync.Mutex
	kept  bytes.Buffer
	total int64
	grown chan struct{} // closed and replaced whenever there is more
	over  bool
}

func newCapture(from *os.File) *capture { return &capture{from: from, grown: make(chan struct{})} }

func (c *capture) pump() {
	buf := make([]byte, 16<<10)
	for {
		n, err := c.from.Read(buf)
		c.mu.Lock()
		c.kept.Write(buf[:min(n, captured-c.kept.Len())])
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

// close ends the reading: a process that left the group may hold the other end for ever.
func (c *capture) close() { _ = c.from.Close() }

// text is what was read so far, at most its first 64 KiB.
func (c *capture) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.String()
}

// look is the text, whether the stream is over, and a sign for more.
func (c *capture) look() (text string, over bool, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.String(), c.over, c.grown
}

// socketDir makes a directory for a plugin's socket, with a path that is short enough.
func socketDir() (string, error) {
	for _, base := range []string{os.TempDir(), "/tmp"} {
		if len(base)+len("/ap-verify-0123456789/plugin-dir0123456789") > maxSocketDir { // go-plugin adds the second
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

// environment is what a plugin gets of the given one: nothing of another handshake.
func environment(from []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return handshakeVariable(name) || name == markerVariable
	})
}

// handshakeVariable says whether a variable is one of those that a plugin's children must not see.
func handshakeVariable(name string) bool {
	return name == wire.CookieKey || strings.HasPrefix(name, "PLUGIN_")
}

func newMarker() string { return "verify-" + rand.Text() }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// firstLine is the first line of a text and what follows it; complete is false while it has no end.
func firstLine(text string) (line, rest string, complete bool) { return strings.Cut(text, "\n") }
