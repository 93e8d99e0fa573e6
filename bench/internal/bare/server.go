package bare

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	service = "bench.Bare"
	unary   = "/" + service + "/Unary"
	stream  = "/" + service + "/Stream"
)

// answer is as long as the output of the mock plugin's agent.
var answer = wrapperspb.Bytes(make([]byte, 128))

// Serve answers calls on the listener until the listener is closed, then returns nil.
func Serve(l net.Listener) error {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: answerUnary}},
		Streams: []grpc.StreamDesc{{
			StreamName: "Stream", Handler: answerStream, ServerStreams: true, ClientStreams: true,
		}},
	}, struct{}{})
	err := s.Serve(l)
	s.Stop()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

//nolint:revive // gRPC defines the order of the arguments
func answerUnary(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	if err := decode(&wrapperspb.BytesValue{}); err != nil {
		return nil, err
	}
	return answer, nil
}

// answerStream sends the messages of a short attempt: the output and the result.
func answerStream(_ any, s grpc.ServerStream) error {
	if err := s.RecvMsg(&wrapperspb.BytesValue{}); err != nil {
		return err
	}
	for range 2 {
		if err := s.SendMsg(answer); err != nil {
			return err
		}
	}
	if err := s.RecvMsg(&wrapperspb.BytesValue{}); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("the client did not close its side"), err)
	}
	return nil
}
