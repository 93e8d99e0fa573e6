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

// quiet starts the process whose handshake the next rows look at.
func quiet(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "write to stderr, also what is written before main; stdout belongs to the handshake"
	dir, err := socketDir()
	if err != nil {
		return lost(err)
	}
	p, err := start(t.spec().handshaking(dir))
	if err != nil {
		_ = os.RemoveAll(dir)
		return fail("make the file a program of this system", "%s", clip(err.Error()))
	}
	t.first = &session{process: p, dir: dir}
	line, err := p.greet(ctx)
	if _, ok := parseGreeting(line); ok {
		t.line = line
		return pass("the handshake is the first line")
	}
	if strings.TrimSpace(line) == "" && err != nil {
		return pass("nothing was printed at all")
	}
	return fail(do, "before its handshake it prints: %s", clip(line))
}

func shakesHands(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "listen on a Unix socket and print 1|1|unix|<path>|grpc| on stdout"
	if t.line == "" {
		_, closed, _ := t.first.stdout.look() // a process that ends closes its stdout a moment before it is seen to end
		switch {
		case closed && until(ctx, slack, t.first.ended):
			return fail(do, "the process ended before a handshake (%s)%s", t.first.exit(), t.first.lastWords())
		case closed:
			return fail(do, "stdout was closed before a handshake%s", t.first.lastWords())
		}
		return fail(do, "no handshake within %s%s", startLimit, t.first.lastWords())
	}
	g, _ := parseGreeting(t.line)
	if faults := g.faults(); len(faults) > 0 {
		return fail(do, "%s: %s", clip(t.line), strings.Join(faults, "; "))
	}
	return pass("core protocol %s, protocol %s, %s, %s", g.core, g.protocol, g.network, g.transport)
}

func listens(ctx context.Context, t *trial, _ sdk.Component) finding {
	const do = "put the socket into the directory that PLUGIN_UNIX_SOCKET_DIR names, or one below it"
	g, _ := parseGreeting(t.line)
	if !inside(g.address, t.first.dir) {
		return fail(do, "%s does not lie in %s", g.address, t.first.dir)
	}
	info, err := os.Lstat(g.address)
	switch {
	case err != nil:
		return fail("listen before the handshake line is printed", "%s", clip(err.Error()))
	case info.Mode().Type() != os.ModeSocket:
		return fail(do, "%s is no socket", g.address)
	}
	ctx, cancel := within(ctx, slack)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", g.address)
	if err != nil {
		return fail("listen before the handshake line is printed", "nobody listens: %s", clip(err.Error()))
	}
	_ = conn.Close()
	return pass("%s", strings.TrimPrefix(g.address, t.first.dir+"/"))
}

func healthy(ctx context.Context, t *trial, _ sdk.Component) finding {
	if err := t.first.connect(t.line); err != nil {
		return lost(err)
	}
	begun := time.Now()
	if err := t.first.alive(ctx); err != nil {
		return fail("serve agentpipelines.plugin.v1.Plugin/Health over gRPC", "%s", clip(err.Error()))
	}
	return pass("answered in %d ms", time.Since(begun).Milliseconds())
}

// speaksGoPlugin connects with the library that the kernel uses, as the kernel does.
func speaksGoPlugin(ctx context.Context, t *trial, _ sdk.Component) finding {
	do := "take PLUGIN_CLIENT_CERT, or say \"mtls\": false"
	how := "over a plain socket"
	if t.description.MTLS {
		how = "by mutual TLS"
	}
	dir, err := socketDir()
	if err != nil {
		return lost(err)
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
		return fail(do, "%s: %s", how, clip(err.Error()))
	}
	c, err := client.New(protocol)
	if err != nil {
		return fail(do, "%s: %s", how, clip(err.Error()))
	}
	ctx, cancel := within(ctx, slack)
	defer cancel()
	if err := c.Health(ctx); err != nil {
		return fail(do, "%s: %s", how, clip(err.Error()))
	}
	return pass("%s", how)
}
