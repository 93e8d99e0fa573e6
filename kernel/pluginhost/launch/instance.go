package launch

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const (
	// shutdownGrace is how long the components may take to release their resources.
	shutdownGrace = 2 * time.Second
	// exitGrace is how long the process may then take to exit.
	exitGrace = time.Second
	// deathTime is how long the kernel waits for a killed process.
	deathTime = 2 * time.Second
	// healthTime is how long a health check may take.
	healthTime = 2 * time.Second
)

// Instance is one running plugin process. It is safe for concurrent use.
type Instance struct {
	command      string
	name         string                // agent-plugin-x
	policy       *sandboxpolicy.Policy // nil: none
	capabilities sandboxpolicy.Capabilities
	redactor     *redact.Redactor
	logger       hclog.Logger
	child        *process.Process
	plugin       *goplugin.Client
	client       *client.Client
	socket       socket

	timedOut atomic.Bool // killed because it did not answer in time
	stop     sync.Once
	wait     sync.WaitGroup
}

// socket is the socket on which a plugin listens.
type socket struct {
	dir     *process.SocketDir // removed at the end
	address string             // set after the handshake

	mu     sync.Mutex // guards:
	failed error      // why this program refused the last connection
}

// Client returns the client of the plugin protocol.
func (i *Instance) Client() *client.Client { return i.client }

// Command returns the command line: the binary's path, and the arguments of a bundled plugin.
func (i *Instance) Command() string { return i.command }

// Sandbox returns the isolation of the process and its descendants.
func (i *Instance) Sandbox() sandboxpolicy.Capabilities { return i.capabilities }

// PID returns the process id.
func (i *Instance) PID() int { return i.child.PID() }

// Done is closed when the process and its group are gone.
func (i *Instance) Done() <-chan struct{} { return i.child.Done() }

// Kill ends the process group at once and does not wait.
func (i *Instance) Kill() { _ = i.child.Kill(context.Background()) }

// Alive reports whether the plugin answers within two seconds.
func (i *Instance) Alive(ctx context.Context) bool { return i.health(ctx, healthTime) == nil }

// Crash returns the failure of a call during which the process ended. It is called after that end.
func (i *Instance) Crash() *failure.Error {
	return failure.New(failure.ProviderCrashed, "plugin %s ended unexpectedly (%s)", i.command, i.child.Exit()).
		WithHint("resume the session to try again; if it fails again, check the plugin with `%s`", failure.Next("plugins", "verify", i.pluginName())).
		WithDetail(i.stderrTail())
}

// Hung returns the failure of a call to a process that was killed because it did not answer.
func (i *Instance) Hung() *failure.Error {
	return failure.New(failure.ProviderCrashed, "plugin %s stopped answering and was killed", i.command).
		WithHint("resume the session to try again; if it fails again, check the plugin with `%s`", failure.Next("plugins", "verify", i.pluginName())).
		WithDetail(i.stderrTail())
}

// Stop ends the plugin, first by a request, then by force, within about five seconds. Later calls wait for the
// first.
func (i *Instance) Stop(ctx context.Context) {
	i.stop.Do(func() {
		if !i.ended() {
			polite, cancel := context.WithTimeout(ctx, shutdownGrace)
			err := i.client.Shutdown(polite)
			cancel()
			if err != nil {
				i.Kill()
			}
		}
		i.shutDown(ctx)
	})
}

// discard ends a plugin that never answered.
func (i *Instance) discard() {
	i.stop.Do(func() {
		i.Kill()
		i.shutDown(context.Background())
	})
}

// shutDown closes go-plugin's client, which waits for the end of the process, and kills the process if
// necessary.
func (i *Instance) shutDown(ctx context.Context) {
	left := make(chan struct{})
	i.wait.Go(func() {
		defer close(left)
		i.plugin.Kill()
	})
	if !process.AwaitEnd(ctx, left, exitGrace) {
		i.Kill()
		if !process.AwaitEnd(context.WithoutCancel(ctx), left, deathTime) {
			i.logger.Error("plugin process does not end after SIGKILL", "plugin", i.command, "pid", i.PID())
			return
		}
	}
	i.wait.Wait()
	_ = i.socket.dir.Remove()
}

func (i *Instance) ended() bool { return process.HasEnded(i.child.Done()) }

func (i *Instance) health(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return i.client.Health(ctx)
}

// dial connects to the plugin's socket and refuses a socket of another user.
func (s *socket) dial(ctx context.Context, _ string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", s.address)
	if err != nil {
		return nil, err
	}
	if err := process.CheckPeer(conn); err != nil {
		_ = conn.Close()
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
		return nil, err
	}
	return conn, nil
}

func (s *socket) peerError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// pluginName returns the plugin's name for `plugins verify`.
func (i *Instance) pluginName() string { return strings.TrimPrefix(i.name, catalog.Prefix) }

// stderrTail returns the last lines of the plugin's stderr, or the first lines of its crash report, without secrets.
func (i *Instance) stderrTail() string {
	return lastLines(i.redactor.Tail(i.child.Tail(), process.StderrKept))
}

// finalStderr returns the text of stderrTail after a short wait for a process that is ending.
func (i *Instance) finalStderr() string {
	return lastLines(i.redactor.Tail(i.child.Diagnose(context.Background()), process.StderrKept))
}

// lastLines returns the last twenty lines, or the first twenty of a crash report; the log has all lines.
func lastLines(words string) string {
	const most = 20
	lines := strings.Split(strings.TrimRight(words, "\n"), "\n")
	over := len(lines) - most
	switch {
	case over <= 0:
		return words
	case process.Crashed(words):
		return fmt.Sprintf("%s\n… (%d more lines)", strings.Join(lines[:most], "\n"), over)
	}
	return fmt.Sprintf("(%d lines before) …\n%s", over, strings.Join(lines[over:], "\n"))
}
