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

// remote is what the components of all kinds have in common.
type remote struct {
	client    *Client
	component sdk.Component
}

// Describe gives the description that the value was made with; it asks nobody.
func (r remote) Describe() sdk.Component { return r.component }

// Init implements sdk.Initializer.
func (r remote) Init(ctx context.Context, req sdk.InitRequest) error {
	response, err := unary(ctx, r.what("init"), r.client.call, r.client.plugin.Init, wire.InitPB(r.ref(), req))
	return reported(response.GetFailure(), err)
}

// Validate implements sdk.Validator.
func (r remote) Validate(ctx context.Context, req sdk.ValidateRequest) error {
	response, err := unary(ctx, r.what("validate"), r.client.call, r.client.plugin.Validate, wire.ValidatePB(r.ref(), req))
	return reported(response.GetFailure(), err)
}

// Examine implements sdk.Examiner. A plugin that does not serve the call has found out nothing.
func (r remote) Examine(ctx context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	served := func(ctx context.Context, m *pb.ExamineRequest, opts ...grpc.CallOption) (*pb.ExamineResponse, error) {
		response, err := r.client.plugin.Examine(ctx, m, opts...)
		if status.Code(err) == codes.Unimplemented {
			return &pb.ExamineResponse{}, nil
		}
		return response, err
	}
	response, err := unary(ctx, r.what("examine"), r.client.call, served, wire.ExaminePB(r.ref(), req))
	var findings []sdk.Finding
	for _, m := range response.GetFindings() {
		findings = append(findings, wire.FromFinding(m))
	}
	return findings, reported(response.GetFailure(), err)
}

func (r remote) ref() wire.Ref { return wire.Ref{Kind: r.component.Kind, Name: r.component.Name} }

// what names a call in messages.
func (r remote) what(call string) string {
	return call + " " + string(r.component.Kind) + " " + r.component.Name
}

// reported is the error of a call: a broken connection first, then what the plugin says.
func reported(m *pb.Failure, err error) error {
	if err != nil {
		return err
	}
	if f := wire.FromFailure(m); f != nil {
		return f
	}
	return nil
}

// Termination is the strategy that component describes, at the other end. It implements
// sdk.Initializer, sdk.Validator, sdk.Examiner and sdk.Releaser as well.
func (c *Client) Termination(component sdk.Component) sdk.Termination {
	component.Kind = sdk.KindTermination
	return &termination{remote{c, component}}
}

type termination struct{ remote }

var (
	_ sdk.Initializer = (*termination)(nil)
	_ sdk.Validator   = (*termination)(nil)
	_ sdk.Examiner    = (*termination)(nil)
	_ sdk.Releaser    = (*termination)(nil)
)

// Decide implements sdk.Termination; the deadline is the caller's.
func (t *termination) Decide(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	leave, err := t.client.turn(ctx, t.component)
	if err != nil {
		return sdk.Decision{}, err
	}
	defer leave()
	response, err := unary(ctx, t.what("decide"), 0, t.client.termination.Decide, wire.DecidePB(t.ref(), req))
	if err := reported(response.GetFailure(), err); err != nil {
		return sdk.Decision{}, err
	}
	return wire.FromDecision(response), nil
}

// Release implements sdk.Releaser.
func (t *termination) Release(ctx context.Context, session string) error {
	response, err := unary(ctx, t.what("release"), t.client.call, t.client.termination.Release, wire.ReleasePB(t.ref(), session))
	return reported(response.GetFailure(), err)
}

// HookAction is the action that component describes, at the other end. It implements sdk.Initializer
// and sdk.Validator as well.
func (c *Client) HookAction(component sdk.Component) sdk.HookAction {
	component.Kind = sdk.KindHookAction
	return &hookAction{remote{c, component}}
}

type hookAction struct{ remote }

var (
	_ sdk.Initializer = (*hookAction)(nil)
	_ sdk.Validator   = (*hookAction)(nil)
)

// Run implements sdk.HookAction; the deadline is the caller's. The answer beside an error holds what
// the action had measured by then.
func (h *hookAction) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	leave, err := h.client.turn(ctx, h.component)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	defer leave()
	response, err := unary(ctx, h.what("run"), 0, h.client.hook.Run, wire.HookPB(h.ref(), req))
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	return wire.FromAnswer(response), reported(response.GetFailure(), nil)
}
