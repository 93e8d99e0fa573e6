package client

import (
	"cmp"
	"context"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// defaultGrace is what a provider takes when the request names no grace.
const defaultGrace = 5 * time.Second

// Provider is the provider that component describes, at the other end. It implements sdk.Initializer
// and sdk.Validator as well.
//
// Execute calls the exchange for what the plugin reports: reports and checkpoints in the order of
// their arrival from one goroutine, each gated call from a goroutine of its own, because a verdict may
// take days. An error of Call or Checkpoint cancels the attempt and is returned. When ctx ends, the
// plugin is asked to stop, and what it answers is returned; an attempt that does not end within the
// request's grace and the client's slack is torn down as provider_timeout. Every failure comes as the
// error, whichever way the provider returned it, and as Error in the result besides. The call has
// finished with the exchange when it returns.
func (c *Client) Provider(component sdk.Component) sdk.Provider {
	component.Kind = sdk.KindProvider
	return &provider{remote{c, component}}
}

type provider struct{ remote }

var (
	_ sdk.Initializer = (*provider)(nil)
	_ sdk.Validator   = (*provider)(nil)
)

// Execute implements sdk.Provider.
func (p *provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	leave, err := p.client.turn(ctx, p.component)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	defer leave()
	start := &pb.ExecuteInput{Input: &pb.ExecuteInput_Start{Start: wire.StartPB(p.ref(), req)}}
	if err := checkSize(p.what("execute"), start); err != nil {
		return sdk.ExecuteResult{}, err
	}
	// The stream outlives ctx: a cancelled attempt still has its say.
	streamCtx, tearDown := context.WithCancel(context.WithoutCancel(ctx))
	defer tearDown()
	stream, err := p.client.provider.Execute(streamCtx)
	if err != nil {
		return sdk.ExecuteResult{}, broken(p.what("execute"), err)
	}
	_ = stream.Send(start) // the first message never waits for the plugin; where it fails, the receiver learns why
	a := &attempt{
		what:     p.what("execute"),
		exchange: x,
		stream:   stream,
		idle:     p.client.idle,
		patience: cmp.Or(req.Grace, defaultGrace) + p.client.slack,
		out:      make(chan *pb.ExecuteInput),
		events:   make(chan received),
		faults:   make(chan error, 1),
		done:     make(chan struct{}),
		torn:     streamCtx.Done(),
	}
	return a.run(ctx, tearDown)
}
