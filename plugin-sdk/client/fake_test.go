package client_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a plugin that answers calls with the functions of a test. Calls without a function are
// unimplemented.
type fake struct {
	pb.UnimplementedPluginServer
	pb.UnimplementedProviderServer
	pb.UnimplementedTerminationServer
	pb.UnimplementedHookActionServer
	execute  func(pb.Provider_ExecuteServer) error
	describe func(context.Context) (*pb.DescribeResponse, error)
	decide   func(*pb.DecideRequest) (*pb.DecideResponse, error)
	examine  func(*pb.ExamineRequest) (*pb.ExamineResponse, error)
}

func (f *fake) Examine(ctx context.Context, m *pb.ExamineRequest) (*pb.ExamineResponse, error) {
	if f.examine == nil {
		return f.UnimplementedPluginServer.Examine(ctx, m)
	}
	return f.examine(m)
}

func (f *fake) Execute(stream pb.Provider_ExecuteServer) error {
	if f.execute == nil {
		return f.UnimplementedProviderServer.Execute(stream)
	}
	return f.execute(stream)
}

func (f *fake) Describe(ctx context.Context, m *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	if f.describe == nil {
		return f.UnimplementedPluginServer.Describe(ctx, m)
	}
	return f.describe(ctx)
}

func (f *fake) Decide(ctx context.Context, m *pb.DecideRequest) (*pb.DecideResponse, error) {
	if f.decide == nil {
		return f.UnimplementedTerminationServer.Decide(ctx, m)
	}
	return f.decide(m)
}

// dial serves the fake on a socket and returns a client of it. The test may stop the server to
// break the connection; the server can send messages of any size.
func dial(t *testing.T, f *fake, opts ...client.Option) (*client.Client, *grpc.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "client") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(1<<30), grpc.WaitForHandlers(true))
	pb.RegisterPluginServer(server, f)
	pb.RegisterProviderServer(server, f)
	pb.RegisterTerminationServer(server, f)
	pb.RegisterHookActionServer(server, f)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	options := append(client.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("unix:"+listener.Addr().String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return client.FromConn(conn, opts...), server
}

// provider returns the fake's provider as the kernel sees it.
func provider(t *testing.T, f *fake, opts ...client.Option) sdk.Provider {
	t.Helper()
	c, _ := dial(t, f, opts...)
	return c.Provider(sdk.Component{Name: "fake"})
}

// The functions below build and send the messages of a fake.

func send(stream pb.Provider_ExecuteServer, m *pb.ExecuteEvent) { _ = stream.Send(m) }

func result(text string) *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Result{Result: &pb.ExecuteResult{Output: []byte(text)}}}
}

func output(text string) *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Output{Output: &pb.OutputChunk{Data: []byte(text)}}}
}

func heartbeat() *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Heartbeat{Heartbeat: &pb.Heartbeat{}}}
}

func gatedCall(id string) *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_ToolCall{ToolCall: &pb.ToolCall{CallId: id, Tool: "tool"}}}
}

func checkpoint(turn int32) *pb.ExecuteEvent {
	return &pb.ExecuteEvent{Event: &pb.ExecuteEvent_Checkpoint{Checkpoint: &pb.Checkpoint{Turn: turn, Blob: []byte("blob")}}}
}
