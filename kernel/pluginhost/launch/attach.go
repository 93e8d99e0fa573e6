package launch

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// debuggerPause is how long a debugged process may stop in the middle of a call.
const debuggerPause = 24 * time.Hour

// AttachedInstance is a plugin process that another program started and will end: this program only
// communicates with it. It is safe for concurrent use.
type AttachedInstance struct {
	name    string // agent-plugin-x
	running catalog.RunningProcess
	conn    *grpc.ClientConn
	client  *client.Client
	stop    context.CancelFunc
	wait    sync.WaitGroup
	done    chan struct{}
}

// Attach connects to a running plugin and returns when it answers. It does not use go-plugin's client, which would end
// the process when the client is closed. If ctx is cancelled, the error is its cause; all other errors are failures.
func (l *Launcher) Attach(ctx context.Context, c catalog.Plugin) (*AttachedInstance, error) {
	a := &AttachedInstance{name: catalog.Prefix + c.Name, running: *c.Running, done: make(chan struct{})}
	conn, err := grpc.NewClient("passthrough:///"+c.Running.Address, append(client.DialOptions(),
		grpc.WithContextDialer(a.dial), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0))...)
	if err != nil {
		return nil, a.connectError(err)
	}
	a.conn = conn
	a.client = client.FromConn(conn, append(slices.Clone(l.cfg.Client), client.IdleLimit(debuggerPause), client.CallLimit(debuggerPause))...)
	limited, cancel := context.WithTimeout(ctx, l.cfg.StartTimeout)
	defer cancel()
	if err := a.client.Health(limited); err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, a.connectError(err)
	}
	watched, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.wait.Go(func() { a.watch(watched) })
	return a, nil
}

// dial refuses a socket that another user serves.
func (a *AttachedInstance) dial(ctx context.Context, _ string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", a.running.Address)
	if err != nil {
		return nil, err
	}
	if err := process.CheckPeer(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// watch waits for the end of the connection, which counts as the end of the process.
func (a *AttachedInstance) watch(ctx context.Context) {
	for state := a.conn.GetState(); state == connectivity.Ready; state = a.conn.GetState() {
		if !a.conn.WaitForStateChange(ctx, state) {
			return // stopped
		}
	}
	close(a.done)
}

func (a *AttachedInstance) connectError(err error) error {
	return failure.New(failure.ProviderMissing, "plugin %s should already be running (%s: PID %d), but does not answer at %s: %w",
		a.name, catalog.FromReattach, a.running.PID, a.running.Address, err).
		WithHint("start `%s debug` again and copy its new line, continue it if a debugger has stopped it, or unset %s", a.name, catalog.FromReattach)
}

// Client returns the client of the plugin protocol.
func (a *AttachedInstance) Client() *client.Client { return a.client }

// Command returns the name of the process for messages.
func (a *AttachedInstance) Command() string {
	return fmt.Sprintf("%s at %s", a.name, a.running.Address)
}

// PID returns the process id given by the user.
func (a *AttachedInstance) PID() int { return a.running.PID }

// Done is closed when the connection has ended, which counts as the end of the process.
func (a *AttachedInstance) Done() <-chan struct{} { return a.done }

// Kill does nothing, because another program owns the process.
func (a *AttachedInstance) Kill() {}

// Alive reports whether the plugin answers within two seconds.
func (a *AttachedInstance) Alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	return a.client.Health(ctx) == nil
}

// Stop closes the connection; the process continues.
func (a *AttachedInstance) Stop(context.Context) {
	a.stop()
	a.wait.Wait()
	_ = a.conn.Close()
}

// Crash returns the failure of a call during which the process ended.
func (a *AttachedInstance) Crash() *failure.Error {
	return failure.New(failure.ProviderCrashed, "plugin %s, which was already running, has ended or broken the connection", a.Command()).
		WithHint("start `%s debug` again, set %s to the new value that it prints, then resume the session", a.name, catalog.FromReattach)
}

// Hung returns the failure of a call to a process that does not answer.
func (a *AttachedInstance) Hung() *failure.Error {
	return failure.New(failure.ProviderCrashed, "plugin %s, which was already running, does not answer", a.Command()).
		WithHint("if a debugger has stopped the plugin, continue it there, then resume the session")
}
