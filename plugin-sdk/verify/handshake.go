package verify

import (
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
)

// checkStdout checks the output before the handshake. It also starts the process for the other rows
// on the handshake.
func checkStdout(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	const do = "write to stderr, before main as well; stdout belongs to the handshake"
	first, err := t.start()
	if err != nil {
		return fail("build the file for this system", "%s", subprocess.Shorten(err.Error()))
	}
	t.first = first
	line, err := first.ReadHandshake(ctx)
	if _, ok := subprocess.ParseHandshakeLine(line); ok {
		t.line = line
		return pass("the handshake is the first line")
	}
	if strings.TrimSpace(line) == "" && err != nil {
		return pass("nothing was printed at all")
	}
	return fail(do, "before its handshake it prints: %s", subprocess.Shorten(line))
}

func checkHandshake(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	const do = "listen on a Unix socket and print 1|1|unix|<path>|grpc| on stdout"
	if t.line == "" {
		_, closed, _ := t.first.Stdout.Snapshot() // an ending process closes its stdout shortly before its end is visible
		switch {
		case closed && subprocess.Poll(ctx, subprocess.Slack, t.first.Ended):
			return fail(do, "the process ended before a handshake (%s)%s", t.first.Exit(), t.first.LastStderr())
		case closed:
			return fail(do, "stdout was closed before a handshake%s", t.first.LastStderr())
		}
		return fail(do, "no handshake within %s%s", subprocess.StartLimit, t.first.LastStderr())
	}
	g, _ := subprocess.ParseHandshakeLine(t.line)
	if faults := g.Faults(); len(faults) > 0 {
		return fail(do, "%s: %s", subprocess.Shorten(t.line), strings.Join(faults, "; "))
	}
	return pass("core protocol %s, protocol %s, %s, %s", g.Core, g.Protocol, g.Network, g.Transport)
}

func checkSocket(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	const do = "put the socket into the directory that PLUGIN_UNIX_SOCKET_DIR names, or one below it"
	g, _ := subprocess.ParseHandshakeLine(t.line)
	if !subprocess.IsBelow(g.Address, t.first.Dir) {
		return fail(do, "%s is not in %s", g.Address, t.first.Dir)
	}
	info, err := os.Lstat(g.Address)
	switch {
	case err != nil:
		return fail("listen before the handshake line is printed", "%s", subprocess.Shorten(err.Error()))
	case info.Mode().Type() != os.ModeSocket:
		return fail(do, "%s is not a socket", g.Address)
	}
	ctx, cancel := subprocess.WithTimeout(ctx, subprocess.Slack)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", g.Address)
	if err != nil {
		return fail("listen before the handshake line is printed", "no process listens: %s", subprocess.Shorten(err.Error()))
	}
	_ = conn.Close()
	return pass("%s", strings.TrimPrefix(g.Address, t.first.Dir+"/"))
}

func checkHealth(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	if err := t.first.Connect(t.line); err != nil {
		return noProcess(err)
	}
	begun := time.Now()
	if err := t.first.Alive(ctx); err != nil {
		return fail("serve agentpipelines.plugin.v1.Plugin/Health over gRPC", "%s", subprocess.Shorten(err.Error()))
	}
	return pass("answered in %d ms", time.Since(begun).Milliseconds())
}

// checkGoPlugin connects through go-plugin, as the kernel does.
func checkGoPlugin(ctx context.Context, t *trial, _ *subprocess.Session, _ sdk.Component) finding {
	do := "use PLUGIN_CLIENT_CERT, or declare \"mtls\": false"
	how := "over a plain socket"
	if t.description.MTLS {
		how = "by mutual TLS"
	}
	dir, err := subprocess.SocketDir()
	if err != nil {
		return noProcess(err)
	}
	defer os.RemoveAll(dir)
	spec := t.spec()
	var started subprocess.HostRunner
	plugin := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: client.PluginSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		AutoMTLS:         t.description.MTLS,
		StartTimeout:     subprocess.StartLimit,
		Logger:           hclog.NewNullLogger(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		GRPCDialOptions:  client.DialOptions(),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			spec.Env = slices.Concat(spec.Env, cmd.Env)
			started, err = subprocess.NewHostRunner(ctx, spec)
			return started, err
		},
	})
	defer plugin.Kill()
	defer func() {
		if started.Process != nil {
			started.KillAll()
		}
	}()
	protocol, err := plugin.Client()
	if err != nil {
		return fail(do, "%s: %s", how, subprocess.Shorten(err.Error()))
	}
	c, err := client.New(protocol)
	if err != nil {
		return fail(do, "%s: %s", how, subprocess.Shorten(err.Error()))
	}
	ctx, cancel := subprocess.WithTimeout(ctx, subprocess.Slack)
	defer cancel()
	if err := c.Health(ctx); err != nil {
		return fail(do, "%s: %s", how, subprocess.Shorten(err.Error()))
	}
	return pass("%s", how)
}
