package main

import (
	"bytes"
	"context"
	"io"
	"os"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// nothing registers no service: the proxy handles every call.
type nothing struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

func (*nothing) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// proxy forwards calls to the good server. An emptypb.Empty holds any message as unknown fields.
type proxy struct{ conn *grpc.ClientConn }

// kept holds the resources that a leaking plugin does not release.
var kept []any

func (p proxy) pass(_ any, host grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(host)
	leak()
	if method == pb.Plugin_Shutdown_FullMethodName && has("no-goodbye") {
		<-host.Context().Done()
		return host.Context().Err()
	}
	ctx, cancel := context.WithCancel(host.Context())
	defer cancel()
	plugin, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	refused := make(chan error, 1)
	go func() { refused <- requests(host, plugin, cancel) }()
	for {
		frame := &emptypb.Empty{}
		if err := plugin.RecvMsg(frame); err != nil {
			select {
			case odd := <-refused:
				if odd != nil {
					return odd
				}
			default:
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if answer := meddle(method, frame); answer != nil {
			if err := host.SendMsg(answer); err != nil {
				return err
			}
		}
	}
}

// requests forwards the host's messages; the error is the reason of a refusal.
func requests(host grpc.ServerStream, plugin grpc.ClientStream, cancel func()) error {
	for {
		frame := &emptypb.Empty{}
		switch err := host.RecvMsg(frame); {
		case err == io.EOF:
			return plugin.CloseSend()
		case err != nil:
			if has("fragile") && status.Code(err) == codes.Internal {
				os.Exit(7)
			}
			cancel()
			return err
		case has("strict") && bytes.Contains(frame.ProtoReflect().GetUnknown(), []byte("from a later version")):
			cancel()
			return status.Error(codes.InvalidArgument, "there is an unknown field")
		}
		if err := plugin.SendMsg(frame); err != nil {
			return nil // the other direction has the error
		}
	}
}

// meddle changes or drops a message of the plugin.
func meddle(method string, frame *emptypb.Empty) proto.Message {
	text := frame.ProtoReflect().GetUnknown()
	if method == pb.Plugin_Validate_FullMethodName && has("promiscuous") {
		var response pb.ValidateResponse
		if proto.Unmarshal(text, &response) == nil && response.GetFailure().GetKind() == "plugin_invalid" {
			return &pb.ValidateResponse{}
		}
	}
	return frame
}

func leak() {
	switch {
	case has("leaky"):
		if f, err := os.Open("/dev/null"); err == nil {
			kept = append(kept, f)
		}
	case has("hoarder"):
		kept = append(kept, bytes.Repeat([]byte("x"), 256<<10))
	}
}
