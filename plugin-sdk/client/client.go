package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/describe"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// Client calls one plugin process. It is safe for concurrent use and needs no Close: the connection
// belongs to its creator.
type Client struct {
	options
	plugin      pb.PluginClient
	provider    pb.ProviderClient
	termination pb.TerminationClient
	hook        pb.HookActionClient

	mu    sync.Mutex
	turns map[wire.Ref]chan struct{} // one token during a call of a serial component
}

// options are the limits of a client.
type options struct {
	silence time.Duration
	call    time.Duration
	slack   time.Duration
}

// Option changes a limit of a [Client].
type Option func(*options)

// IdleLimit sets the maximum time between two messages of the plugin during an attempt, heartbeats
// included. Default: 30 s.
func IdleLimit(d time.Duration) Option { return func(o *options) { o.silence = d } }

// CallLimit sets the deadline of Describe, Init, Validate, Diagnose, Health, Shutdown and Release.
// Default: 10 s.
func CallLimit(d time.Duration) Option { return func(o *options) { o.call = d } }

// CancelSlack sets the time beyond the request's grace after which a cancelled attempt's stream is
// torn down. Default: 5 s.
func CancelSlack(d time.Duration) Option { return func(o *options) { o.slack = d } }

// New returns a client of the connection that go-plugin made with [PluginSets].
func New(p goplugin.ClientProtocol, opts ...Option) (*Client, error) {
	raw, err := p.Dispense(wire.PluginSet)
	if err != nil {
		return nil, failure.New(failure.PluginInvalid, "connect to the plugin: %w", err)
	}
	conn, ok := raw.(grpc.ClientConnInterface)
	if !ok {
		return nil, failure.New(failure.PluginInvalid, "connect to the plugin: go-plugin gave a %T instead of a gRPC connection", raw)
	}
	return FromConn(conn, opts...), nil
}

// FromConn returns a client of a gRPC connection to a plugin. The connection should be made with
// [DialOptions].
func FromConn(conn grpc.ClientConnInterface, opts ...Option) *Client {
	o := options{silence: 30 * time.Second, call: 10 * time.Second, slack: 5 * time.Second}
	for _, opt := range opts {
		opt(&o)
	}
	return &Client{
		options:     o,
		plugin:      pb.NewPluginClient(conn),
		provider:    pb.NewProviderClient(conn),
		termination: pb.NewTerminationClient(conn),
		hook:        pb.NewHookActionClient(conn),
		turns:       map[wire.Ref]chan struct{}{},
	}
}

// Describe requests the plugin's description. An invalid description is an error of kind
// plugin_invalid.
func (c *Client) Describe(ctx context.Context) (sdk.Description, error) {
	response, err := unary(ctx, "describe", c.call, c.plugin.Describe, &pb.DescribeRequest{})
	if err != nil {
		return sdk.Description{}, err
	}
	d := wire.Decode[sdk.Description](response)
	if err := CheckDescription(d); err != nil {
		return d, err
	}
	return d, nil
}

// CheckDescription returns a plugin_invalid error if a description, from any source, is not valid.
func CheckDescription(d sdk.Description) error {
	if err := describe.Check(d); err != nil {
		return failure.New(failure.PluginInvalid, "the plugin's description is not valid: %w", err)
	}
	return nil
}

// Health returns an error if the plugin does not answer.
func (c *Client) Health(ctx context.Context) error {
	_, err := unary(ctx, "health", c.call, c.plugin.Health, &pb.HealthRequest{})
	return err
}

// Shutdown asks the plugin's components to release their resources. The caller ends the process.
func (c *Client) Shutdown(ctx context.Context) error {
	_, err := unary(ctx, "shutdown", c.call, c.plugin.Shutdown, &pb.ShutdownRequest{})
	return err
}

// turn waits until a serial component is free; leave frees it. Other components are always free.
func (c *Client) turn(ctx context.Context, component sdk.Component) (leave func(), err error) {
	if component.Concurrency != sdk.ConcurrencySerial {
		return func() {}, nil
	}
	ref := wire.Ref{Kind: component.Kind, Name: component.Name}
	c.mu.Lock()
	token, ok := c.turns[ref]
	if !ok {
		token = make(chan struct{}, 1)
		c.turns[ref] = token
	}
	c.mu.Unlock()
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for %s %s, which works on one call at a time: %w", ref.Kind, ref.Name, context.Cause(ctx))
	}
}
