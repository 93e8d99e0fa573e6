package verify

import (
	"context"
	"io"
	"strconv"
	"sync"

	"github.com/hashicorp/go-plugin/runner"
)

// hostRunner starts the process for go-plugin's client with our pipes, as the kernel does. The
// library's own runner would pass our stdin to the plugin and leave its children running.
type hostRunner struct {
	spec spec

	mu      sync.Mutex
	process *process
}

var _ runner.Runner = (*hostRunner)(nil)

// Start implements runner.Runner.
func (r *hostRunner) Start(context.Context) error {
	p, err := start(r.spec)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = p
	return err
}

func (r *hostRunner) started() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// end ends the process.
func (r *hostRunner) end() {
	if p := r.started(); p != nil {
		p.killAll()
	}
}

// Stdout implements runner.Runner: the handshake line, then nothing.
func (r *hostRunner) Stdout() io.ReadCloser {
	return io.NopCloser(&greetingReader{process: r.started()})
}

// Stderr implements runner.Runner. The process keeps the output.
func (r *hostRunner) Stderr() io.ReadCloser { return io.NopCloser(eof{}) }

// Wait implements runner.Runner.
func (r *hostRunner) Wait(ctx context.Context) error {
	select {
	case <-r.started().done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill implements runner.Runner.
func (r *hostRunner) Kill(context.Context) error {
	if p := r.started(); p != nil && !p.ended() {
		return p.cmd.Process.Kill()
	}
	return nil
}

// Diagnose implements runner.Runner.
func (r *hostRunner) Diagnose(context.Context) string {
	if p := r.started(); p != nil {
		return p.lastStderr()
	}
	return ""
}

// Name implements runner.Runner.
func (r *hostRunner) Name() string { return r.spec.Path }

// ID implements runner.Runner.
func (r *hostRunner) ID() string {
	if p := r.started(); p != nil {
		return strconv.Itoa(p.pid())
	}
	return ""
}

// HostToPlugin implements runner.Runner: both sides see the same files.
func (r *hostRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// PluginToHost implements runner.Runner.
func (r *hostRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// greetingReader returns the handshake line when it has arrived.
type greetingReader struct {
	process *process
	rest    []byte
	begun   bool
}

func (g *greetingReader) Read(p []byte) (int, error) {
	if !g.begun {
		g.begun = true
		line, err := g.process.readHandshake(context.Background())
		if err != nil && line == "" {
			return 0, io.EOF // Wait returns the reason
		}
		g.rest = []byte(line + "\n")
	}
	if len(g.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
