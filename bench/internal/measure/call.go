package measure

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
)

// calls compares an attempt in an instant plugin with a plain gRPC stream to another process, both over Unix sockets.
// Only the plugin's socket has mutual TLS, as under the kernel.
func (b *bench) calls(ctx context.Context) (_ []table.Row, err error) {
	provider, stop, err := b.startInstant(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	server, err := b.StartBare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()

	request := make([]byte, 2<<10) // about the size of an attempt's start message
	attempt := func(ctx context.Context) error {
		_, err := provider.Execute(ctx, sdk.ExecuteRequest{Key: "attempt:0/v1/r1/-/-/i1#1", Prompt: string(request)}, silence{})
		return err
	}
	median := func(call func(context.Context) error) sample.Subject {
		return func(ctx context.Context) (float64, error) {
			return medianTime(b.Calls, func() error { return call(ctx) })
		}
	}
	s, err := sample.InTurn(ctx, b.rounds(30), median(attempt), median(func(ctx context.Context) error { return server.Stream(ctx, request) }))
	if err != nil {
		return nil, err
	}
	return []table.Row{{
		Name: "call of a plugin", Ours: s[0], Each: b.Calls, Key: "call",
		Peer: "bare gRPC, bidirectional stream of the same messages", Theirs: s[1],
	}}, nil
}

// startInstant starts the instant plugin with go-plugin. stop ends it.
func (b *bench) startInstant(ctx context.Context) (_ sdk.Provider, stop func(), err error) {
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  client.Handshake(),
		VersionedPlugins: client.PluginSets(),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions:  client.DialOptions(),
		AutoMTLS:         true,
		Cmd:              exec.Command(b.Program("instant")),
		Stderr:           os.Stderr, // shows why a start fails
		Logger:           hclog.NewNullLogger(),
	})
	defer func() {
		if err != nil {
			c.Kill()
		}
	}()
	protocol, err := c.Client()
	if err != nil {
		return nil, nil, err
	}
	plugin, err := client.New(protocol)
	if err != nil {
		return nil, nil, err
	}
	d, err := plugin.Describe(ctx)
	if err != nil {
		return nil, nil, err
	}
	return plugin.Provider(d.Components[0]), c.Kill, nil
}

// silence is an exchange that ignores output. The instant plugin reports nothing else.
type silence struct{ sdk.Exchange }

func (silence) Output(sdk.OutputChunk) {}
