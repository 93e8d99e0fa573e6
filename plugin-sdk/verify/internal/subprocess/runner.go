package subprocess

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin/runner"
)

// HostRunner gives go-plugin a process that already runs. The process's stdin is a pipe whose end shows the plugin that
// the host has ended. The runner of go-plugin would pass on the stdin of this program.
type HostRunner struct {
	*Process
	handshake string // the first line of its stdout, "" if there is none
}

var _ runner.Runner = HostRunner{}

// NewHostRunner starts a process and waits for its handshake. The caller ends it with [Process.KillAll].
func NewHostRunner(ctx context.Context, s Spec) (HostRunner, error) {
	p, err := Start(s)
	if err != nil {
		return HostRunner{}, err
	}
	line, err := p.ReadHandshake(ctx)
	if err == nil {
		line += "\n"
	}
	return HostRunner{p, line}, nil // go-plugin reports a missing handshake with the result of Diagnose
}

// Start implements runner.Runner.
func (HostRunner) Start(context.Context) error { return nil }

// Stdout returns the handshake, and then the end of the stream.
func (r HostRunner) Stdout() io.ReadCloser { return io.NopCloser(strings.NewReader(r.handshake)) }

// Stderr returns nothing, because the process keeps its stderr itself.
func (HostRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait waits for the end of the process.
func (r HostRunner) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill ends the process.
func (r HostRunner) Kill(context.Context) error {
	if r.Ended() {
		return nil
	}
	return r.cmd.Process.Kill()
}

// Diagnose returns the end of the plugin's stderr.
func (r HostRunner) Diagnose(context.Context) string { return r.LastStderr() }

// Name returns the program.
func (r HostRunner) Name() string { return r.Spec.Path }

// ID returns the process number.
func (r HostRunner) ID() string { return strconv.Itoa(r.Pid()) }

// HostToPlugin returns the address unchanged: both ends are in the same file system.
func (HostRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// PluginToHost returns the address unchanged.
func (HostRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}
