package client

import (
	"cmp"
	"context"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// defaultGrace is the grace of a request without one.
const defaultGrace = 5 * time.Second

// Provider returns the plugin's provider with this description. The provider also implements
// sdk.Initializer, sdk.Validator and sdk.Diagnoser.
//
// Execute calls the exchange with the plugin's reports. One goroutine passes reports and
// checkpoints in order; each gated call has its own goroutine, because a verdict may take days. An error of
// Call or Checkpoint cancels the attempt and is returned.
//
// When ctx ends, Execute asks the plugin to stop and returns the plugin's result. An attempt that still
// runs after the request's grace and the client's slack is torn down as provider_timeout.
//
// A failure in the plugin's result is also returned as the error, unless the outcome is empty.
// Without a result of the plugin, only the error is set. Execute does not use the exchange after it
// returns.
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
	start := &pb.ExecuteInput{Input: &pb.ExecuteInput_Start{Start: wire.Request[pb.ExecuteStart](p.ref(), req)}}
	if err := checkSize(p.callName("execute"), start); err != nil {
		return sdk.ExecuteResult{}, err
	}
	// The stream outlives ctx, so that a cancelled attempt can still send its result.
	streamCtx, tearDown := context.WithCancel(context.WithoutCancel(ctx))
	defer tearDown()
	stream, err := p.client.provider.Execute(streamCtx)
	if err != nil {
		return sdk.ExecuteResult{}, connectionError(p.callName("execute"), err)
	}
	_ = stream.Send(start) // the first message never blocks; the receiver gets the reason of an error
	a := &attempt{
		label:    p.callName("execute"),
		exchange: x,
		stream:   stream,
		silence:  p.client.silence,
		patience: cmp.Or(req.Grace, defaultGrace) + p.client.slack,
		events:   make(chan streamMessage),
		faults:   make(chan error, 1),
		tornDown: streamCtx.Done(),
	}
	return a.run(ctx, tearDown)
}
