package verify

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// methods are the unary methods of all services, without Shutdown.
var methods = []string{
	pb.Plugin_Describe_FullMethodName, pb.Plugin_Init_FullMethodName, pb.Plugin_Validate_FullMethodName, pb.Plugin_Examine_FullMethodName, pb.Plugin_Health_FullMethodName,
	pb.Termination_Decide_FullMethodName, pb.Termination_Release_FullMethodName, pb.HookAction_Run_FullMethodName,
}

// catchErrors is the remedy of a plugin that does not survive garbage.
const catchErrors = "catch decoding errors; ignore unknown fields, enum values and messages"

// checkGarbage checks that the plugin survives invalid messages, and messages with unknown content.
func checkGarbage(ctx context.Context, t *trial, s *subprocess.Session, _ sdk.Component) finding {
	for _, method := range methods {
		for name, message := range subprocess.InvalidMessages() {
			send(ctx, s, method, message)
			if err := s.Alive(ctx); err != nil {
				return fail(catchErrors, "after %s to %s: %s", name, method, subprocess.Shorten(err.Error()))
			}
		}
	}
	for name, message := range subprocess.InvalidMessages() {
		stream(ctx, s, message)
		if err := s.Alive(ctx); err != nil {
			return fail(catchErrors, "after %s to %s: %s", name, pb.Provider_Execute_FullMethodName, subprocess.Shorten(err.Error()))
		}
	}
	for _, c := range t.description.Components {
		if f := ignoresUnknown(ctx, s, t, c); f.result == Fail {
			return f
		}
	}
	for _, c := range t.description.Components {
		if f := checkInvalidConfigs(ctx, s, t, c); f.result == Fail {
			return f
		}
	}
	return pass("%d methods, %d kinds of garbage", len(methods)+1, len(subprocess.InvalidMessages()))
}

// checkInvalidConfigs makes calls of a component's work with invalid configurations. It passes if the plugin survives
// them.
func checkInvalidConfigs(ctx context.Context, s *subprocess.Session, t *trial, c sdk.Component) finding {
	for _, config := range invalidConfigs {
		work, _ := t.work(s, c, config)
		if work == nil {
			break
		}
		if err := work(ctx); err != nil && s.Alive(ctx) != nil {
			return fail(catchErrors, "work of %s with the configuration %q: %s", label(c), config, explain(ctx, s, err))
		}
	}
	return pass("")
}

// send makes a unary call and ignores the answer.
func send(ctx context.Context, s *subprocess.Session, method string, message []byte) {
	ctx, cancel := subprocess.WithTimeout(ctx, subprocess.Slack)
	defer cancel()
	var response []byte
	_ = s.Conn.Invoke(ctx, method, message, &response, subprocess.SendRaw())
}

// stream runs an attempt of one message and ignores the answer.
func stream(ctx context.Context, s *subprocess.Session, message []byte) {
	ctx, cancel := subprocess.WithTimeout(ctx, subprocess.Slack)
	defer cancel()
	stream, err := s.Conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		pb.Provider_Execute_FullMethodName, subprocess.SendRaw())
	if err != nil {
		return
	}
	_ = stream.SendMsg(message)
	_ = stream.CloseSend()
	for {
		var event []byte
		if stream.RecvMsg(&event) != nil {
			return
		}
	}
}

// ignoresUnknown compares the answers of Validate to requests with and without unknown fields. It
// passes if both have the same kind of failure, or none.
func ignoresUnknown(ctx context.Context, s *subprocess.Session, t *trial, c sdk.Component) finding {
	const do = "ignore unknown fields: a later kernel sends more"
	model, config, _ := t.opts.Cases.settings(c)
	want, err := validate(ctx, s, c, model, config)
	if err != nil {
		return fail(do, "Validate of %s: %s", label(c), explain(ctx, s, err))
	}
	request, err := proto.Marshal(&pb.ValidateRequest{Component: ref(c), Model: model, Config: config})
	if err != nil {
		return noProcess(err)
	}
	limited, cancel := subprocess.WithTimeout(ctx, callLimit)
	defer cancel()
	var response []byte
	err = s.Conn.Invoke(limited, pb.Plugin_Validate_FullMethodName, subprocess.WithUnknownFields(request), &response, subprocess.SendRaw())
	var got pb.ValidateResponse
	if err == nil {
		err = proto.Unmarshal(response, &got)
	}
	switch {
	case err != nil:
		return fail(do, "Validate of %s with unknown fields: %s", label(c), explain(ctx, s, err))
	case got.GetFailure().GetKind() != want.GetKind():
		return fail(do, "Validate of %s answers %q, with unknown fields %q", label(c), want.GetKind(), got.GetFailure().GetKind())
	}
	return pass("")
}
