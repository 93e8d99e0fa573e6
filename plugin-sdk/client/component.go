package client

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// remote is the part that components of all kinds share.
type remote struct {
	client    *Client
	component sdk.Component
}

// Describe returns the description that the component was created with, without a call.
func (r remote) Describe() sdk.Component { return r.component }

// Init implements sdk.Initializer.
func (r remote) Init(ctx context.Context, req sdk.InitRequest) error {
	response, err := unary(ctx, r.callName("init"), r.client.call, r.client.plugin.Init, wire.Request[pb.InitRequest](r.ref(), req))
	return callError(response.GetFailure(), err)
}

// Validate implements sdk.Validator.
func (r remote) Validate(ctx context.Context, req sdk.ValidateRequest) error {
	response, err := unary(ctx, r.callName("validate"), r.client.call, r.client.plugin.Validate, wire.Request[pb.ValidateRequest](r.ref(), req))
	return callError(response.GetFailure(), err)
}

// Diagnose implements sdk.Diagnoser. It returns no findings if the plugin does not serve the call Examine.
func (r remote) Diagnose(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	served := func(ctx context.Context, m *pb.ExamineRequest, opts ...grpc.CallOption) (*pb.ExamineResponse, error) {
		response, err := r.client.plugin.Examine(ctx, m, opts...)
		if status.Code(err) == codes.Unimplemented {
			return &pb.ExamineResponse{}, nil
		}
		return response, err
	}
	response, err := unary(ctx, r.callName("examine"), r.client.call, served, wire.Request[pb.ExamineRequest](r.ref(), req))
	var findings []sdk.Finding
	for _, m := range response.GetFindings() {
		findings = append(findings, wire.Decode[sdk.Finding](m))
	}
	return findings, callError(response.GetFailure(), err)
}

func (r remote) ref() wire.Ref { return wire.Ref{Kind: r.component.Kind, Name: r.component.Name} }

// callName returns the name of a call for messages.
func (r remote) callName(call string) string {
	return call + " " + string(r.component.Kind) + " " + r.component.Name
}

// callError returns the error of a call: a broken connection first, then the plugin's failure.
func callError(m *pb.Failure, err error) error {
	if err != nil {
		return err
	}
	if f := wire.FromFailure(m); f != nil {
		return f
	}
	return nil
}

// Termination returns the plugin's strategy with this description. The strategy also implements
// sdk.Initializer, sdk.Validator, sdk.Diagnoser and sdk.Releaser.
func (c *Client) Termination(component sdk.Component) sdk.Termination {
	component.Kind = sdk.KindTermination
	return &termination{remote{c, component}}
}

type termination struct{ remote }

var (
	_ sdk.Initializer = (*termination)(nil)
	_ sdk.Validator   = (*termination)(nil)
	_ sdk.Diagnoser   = (*termination)(nil)
	_ sdk.Releaser    = (*termination)(nil)
)

// Decide implements sdk.Termination. The caller sets the deadline.
func (t *termination) Decide(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	leave, err := t.client.turn(ctx, t.component)
	if err != nil {
		return sdk.Decision{}, err
	}
	defer leave()
	response, err := unary(ctx, t.callName("decide"), 0, t.client.termination.Decide, wire.Request[pb.DecideRequest](t.ref(), req))
	if err := callError(response.GetFailure(), err); err != nil {
		return sdk.Decision{}, err
	}
	return wire.Decode[sdk.Decision](response), nil
}

// Release implements sdk.Releaser.
func (t *termination) Release(ctx context.Context, session string) error {
	response, err := unary(ctx, t.callName("release"), t.client.call, t.client.termination.Release, wire.Request[pb.ReleaseRequest](t.ref(), struct{ Session string }{session}))
	return callError(response.GetFailure(), err)
}

// HookAction returns the plugin's action with this description. The action also implements
// sdk.Initializer, sdk.Validator and sdk.Diagnoser.
func (c *Client) HookAction(component sdk.Component) sdk.HookAction {
	component.Kind = sdk.KindHookAction
	return &hookAction{remote{c, component}}
}

type hookAction struct{ remote }

var (
	_ sdk.Initializer = (*hookAction)(nil)
	_ sdk.Validator   = (*hookAction)(nil)
)

// Run implements sdk.HookAction. The caller sets the deadline. With a failure of the plugin, the
// answer holds the measurements so far.
func (h *hookAction) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	leave, err := h.client.turn(ctx, h.component)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	defer leave()
	response, err := unary(ctx, h.callName("run"), 0, h.client.hook.Run, wire.Request[pb.HookRequest](h.ref(), req))
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	return wire.Decode[sdk.HookAnswer](response), callError(response.GetFailure(), nil)
}
