package verify

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
)

// startFirst starts the process for the rows on the handshake.
func startFirst(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "write to stderr, before main as well; stdout belongs to the handshake"
	dir, err := socketDir()
	if err != nil {
		return noProcess(err)
	}
	p, err := start(t.spec().handshaking(dir))
	if err != nil {
		_ = os.RemoveAll(dir)
		return fail("build the file for this system", "%s", shorten(err.Error()))
	}
	t.first = &session{process: p, dir: dir}
	line, err := p.readHandshake(ctx)
	if _, ok := parseHandshakeLine(line); ok {
		t.line = line
		return pass("the handshake is the first line")
	}
	if strings.TrimSpace(line) == "" && err != nil {
		return pass("nothing was printed at all")
	}
	return fail(do, "before its handshake it prints: %s", shorten(line))
}

func checkHandshake(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "listen on a Unix socket and print 1|1|unix|<path>|grpc| on stdout"
	if t.line == "" {
		_, closed, _ := t.first.stdout.snapshot() // an ending process closes its stdout shortly before its end is visible
		switch {
		case closed && poll(ctx, slack, t.first.ended):
			return fail(do, "the process ended before a handshake (%s)%s", t.first.exit(), t.first.lastStderr())
		case closed:
			return fail(do, "stdout was closed before a handshake%s", t.first.lastStderr())
		}
		return fail(do, "no handshake within %s%s", startLimit, t.first.lastStderr())
	}
	g, _ := parseHandshakeLine(t.line)
	if faults := g.faults(); len(faults) > 0 {
		return fail(do, "%s: %s", shorten(t.line), strings.Join(faults, "; "))
	}
	return pass("core protocol %s, protocol %s, %s, %s", g.core, g.protocol, g.network, g.transport)
}

func checkSocket(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "put the socket into the directory that PLUGIN_UNIX_SOCKET_DIR names, or one below it"
	g, _ := parseHandshakeLine(t.line)
	if !isBelow(g.address, t.first.dir) {
		return fail(do, "%s is not in %s", g.address, t.first.dir)
	}
	info, err := os.Lstat(g.address)
	switch {
	case err != nil:
		return fail("listen before the handshake line is printed", "%s", shorten(err.Error()))
	case info.Mode().Type() != os.ModeSocket:
		return fail(do, "%s is not a socket", g.address)
	}
	ctx, cancel := withTimeout(ctx, slack)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", g.address)
	if err != nil {
		return fail("listen before the handshake line is printed", "no process listens: %s", shorten(err.Error()))
	}
	_ = conn.Close()
	return pass("%s", strings.TrimPrefix(g.address, t.first.dir+"/"))
}

func checkHealth(ctx context.Context, t *trial, _ sdk.Component) finding {
	if err := t.first.connect(t.line); err != nil {
		return noProcess(err)
	}
	begun := time.Now()
	if err := t.first.alive(ctx); err != nil {
		return fail("serve agentpipelines.plugin.v1.Plugin/Health over gRPC", "%s", shorten(err.Error()))
	}
	return pass("answered in %d ms", time.Since(begun).Milliseconds())
}

// speaksGoPlugin connects through go-plugin, as the kernel does.
func speaksGoPlugin(ctx context.Context, t *trial, _ sdk.Component) finding {
	do := "use PLUGIN_CLIENT_CERT, or declare \"mtls\": false"
	how := "over a plain socket"
	if t.description.MTLS {
		how = "by mutual TLS"
	}
	dir, err := socketDir()
	if err != nil {
		return noProcess(err)
	}
	defer os.RemoveAll(dir)
	r := &hostRunner{spec: t.spec()}
	plugin := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: client.PluginSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		AutoMTLS:         t.description.MTLS,
		StartTimeout:     startLimit,
		Logger:           hclog.NewNullLogger(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		GRPCDialOptions:  client.DialOptions(),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			r.spec.Env = append(append([]string{}, r.spec.Env...), cmd.Env...)
			return r, nil
		},
	})
	defer plugin.Kill()
	defer r.end()
	protocol, err := plugin.Client()
	if err != nil {
		return fail(do, "%s: %s", how, shorten(err.Error()))
	}
	c, err := client.New(protocol)
	if err != nil {
		return fail(do, "%s: %s", how, shorten(err.Error()))
	}
	ctx, cancel := withTimeout(ctx, slack)
	defer cancel()
	if err := c.Health(ctx); err != nil {
		return fail(do, "%s: %s", how, shorten(err.Error()))
	}
	return pass("%s", how)
}
