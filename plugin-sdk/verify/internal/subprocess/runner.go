package subprocess

import (
	"context"
	"io"
	"strconv"
	"sync"

	"github.com/hashicorp/go-plugin/runner"
)

// HostRunner starts the process for go-plugin's client with our pipes, as the kernel does. The
// library's own runner would pass our stdin to the plugin and leave its children running.
type HostRunner struct {
	Spec Spec

	mu      sync.Mutex
	process *Process
}

var _ runner.Runner = (*HostRunner)(nil)

// Start implements runner.Runner.
func (r *HostRunner) Start(context.Context) error {
	p, err := Start(r.Spec)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = p
	return err
}

func (r *HostRunner) started() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

// End ends the process.
func (r *HostRunner) End() {
	if p := r.started(); p != nil {
		p.KillAll()
	}
}

// Stdout implements runner.Runner: the handshake line, then nothing.
func (r *HostRunner) Stdout() io.ReadCloser {
	return io.NopCloser(&greetingReader{process: r.started()})
}

// Stderr implements runner.Runner. The process keeps the output.
func (r *HostRunner) Stderr() io.ReadCloser { return io.NopCloser(eof{}) }

// Wait implements runner.Runner.
func (r *HostRunner) Wait(ctx context.Context) error {
	select {
	case <-r.started().done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill implements runner.Runner.
func (r *HostRunner) Kill(context.Context) error {
	if p := r.started(); p != nil && !p.Ended() {
		return p.cmd.Process.Kill()
	}
	return nil
}

// Diagnose implements runner.Runner.
func (r *HostRunner) Diagnose(context.Context) string {
	if p := r.started(); p != nil {
		return p.LastStderr()
	}
	return ""
}

// Name implements runner.Runner.
func (r *HostRunner) Name() string { return r.Spec.Path }

// ID implements runner.Runner.
func (r *HostRunner) ID() string {
	if p := r.started(); p != nil {
		return strconv.Itoa(p.Pid())
	}
	return ""
}

// HostToPlugin implements runner.Runner: both sides see the same files.
func (r *HostRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// PluginToHost implements runner.Runner.
func (r *HostRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// greetingReader returns the handshake line when it has arrived.
type greetingReader struct {
	process *Process
	rest    []byte
	begun   bool
}

func (g *greetingReader) Read(p []byte) (int, error) {
	if !g.begun {
		g.begun = true
		line, err := g.process.ReadHandshake(context.Background())
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
