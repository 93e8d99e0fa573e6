package serve

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// pluginService serves the calls on the whole binary.
type pluginService struct {
	pb.UnimplementedPluginServer
	server *server
}

func (s *pluginService) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return wire.DescriptionPB(s.server.description), nil
}

func (s *pluginService) Init(ctx context.Context, m *pb.InitRequest) (*pb.InitResponse, error) {
	c, err := s.server.find(m.GetComponent())
	if err != nil {
		return &pb.InitResponse{Failure: wire.FailurePB(failure.From(err))}, nil
	}
	impl, ok := c.impl.(sdk.Initializer)
	if !ok {
		return &pb.InitResponse{}, nil
	}
	err = s.server.unary(ctx, c, func(ctx context.Context) error { return impl.Init(ctx, wire.FromInit(m)) })
	return &pb.InitResponse{Failure: wire.FailurePB(c.toFailure(err))}, nil
}

func (s *pluginService) Validate(ctx context.Context, m *pb.ValidateRequest) (*pb.ValidateResponse, error) {
	c, err := s.server.find(m.GetComponent())
	if err != nil {
		return &pb.ValidateResponse{Failure: wire.FailurePB(failure.From(err))}, nil
	}
	impl, ok := c.impl.(sdk.Validator)
	if !ok {
		return &pb.ValidateResponse{}, nil
	}
	err = s.server.unary(ctx, c, func(ctx context.Context) error { return impl.Validate(ctx, wire.FromValidate(m)) })
	return &pb.ValidateResponse{Failure: wire.FailurePB(failureOr(err, failure.ConfigInvalid))}, nil
}

func (s *pluginService) Examine(ctx context.Context, m *pb.ExamineRequest) (*pb.ExamineResponse, error) {
	c, err := s.server.find(m.GetComponent())
	if err != nil {
		return &pb.ExamineResponse{Failure: wire.FailurePB(failure.From(err))}, nil
	}
	response := &pb.ExamineResponse{}
	impl, ok := c.impl.(sdk.Diagnoser)
	if !ok {
		return response, nil
	}
	err = s.server.unary(ctx, c, func(ctx context.Context) error {
		findings, err := impl.Diagnose(ctx, wire.FromExamine(m))
		for _, f := range findings {
			response.Findings = append(response.Findings, wire.FindingPB(f))
		}
		return err
	})
	response.Failure = wire.FailurePB(c.toFailure(err))
	return response, nil
}

func (s *pluginService) Health(context.Context, *pb.HealthRequest) (*pb.HealthResponse, error) {
	return &pb.HealthResponse{}, nil
}

func (s *pluginService) Shutdown(context.Context, *pb.ShutdownRequest) (*pb.ShutdownResponse, error) {
	s.server.shutdownComponents()
	return &pb.ShutdownResponse{}, nil
}

// terminationService serves the termination strategies.
type terminationService struct {
	pb.UnimplementedTerminationServer
	server *server
}

func (s *terminationService) Decide(ctx context.Context, m *pb.DecideRequest) (*pb.DecideResponse, error) {
	c, err := s.server.find(m.GetComponent())
	if err != nil {
		return &pb.DecideResponse{Failure: wire.FailurePB(failure.From(err))}, nil
	}
	var decision sdk.Decision
	err = s.server.unary(ctx, c, func(ctx context.Context) (err error) {
		decision, err = c.impl.(sdk.Termination).Decide(ctx, wire.FromDecide(m))
		return err
	})
	response := wire.DecisionPB(decision)
	response.Failure = wire.FailurePB(c.toFailure(err))
	return response, nil
}

func (s *terminationService) Release(ctx context.Context, m *pb.ReleaseRequest) (*pb.ReleaseResponse, error) {
	c, err := s.server.find(m.GetComponent())
	if err != nil {
		return &pb.ReleaseResponse{Failure: wire.FailurePB(failure.From(err))}, nil
	}
	impl, ok := c.impl.(sdk.Releaser)
	if !ok {
		return &pb.ReleaseResponse{}, nil
	}
	err = s.server.unary(ctx, c, func(ctx context.Context) error { return impl.Release(ctx, m.GetSession()) })
	return &pb.ReleaseResponse{Failure: wire.FailurePB(c.toFailure(err))}, nil
}

// hookService serves the hook actions.
type hookService struct {
	pb.UnimplementedHookActionServer
	server *server
}

func (s *hookService) Run(ctx context.Context, m *pb.HookRequest) (*pb.HookResponse, error) {
	c, err := s.server.find(m.GetComponent())
	if err != nil {
		return &pb.HookResponse{Failure: wire.FailurePB(failure.From(err))}, nil
	}
	var reply sdk.HookAnswer
	err = s.server.unary(ctx, c, func(ctx context.Context) (err error) {
		reply, err = c.impl.(sdk.HookAction).Run(ctx, wire.FromHook(m))
		return err
	})
	response := wire.AnswerPB(reply)
	response.Failure = wire.FailurePB(c.toFailure(err))
	return response, nil
}

// unary makes one call on a component and tracks it in the server's calls.
func (s *server) unary(ctx context.Context, c *component, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(wire.Incoming(ctx))
	defer cancel(nil)
	done, err := s.calls.begin(cancel)
	if err != nil {
		return err
	}
	defer done()
	return c.call(ctx, func() error { return work(ctx) })
}
