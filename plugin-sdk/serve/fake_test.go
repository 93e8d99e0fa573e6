package serve

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeProvider is a provider that calls the functions in its fields.
type fakeProvider struct {
	component sdk.Component
	execute   func(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error)
	init      func(sdk.InitRequest) error
	validate  func(sdk.ValidateRequest) error
	examine   func(sdk.ValidateRequest) ([]sdk.Finding, error)
	shutdown  func(context.Context) error
}

func (p *fakeProvider) Describe() sdk.Component {
	if p.component.Name == "" {
		p.component.Name = "fake"
	}
	return p.component
}

func (p *fakeProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	return p.execute(ctx, req, x)
}

func (p *fakeProvider) Init(_ context.Context, req sdk.InitRequest) error {
	if p.init == nil {
		return nil
	}
	return p.init(req)
}

func (p *fakeProvider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	if p.validate == nil {
		return nil
	}
	return p.validate(req)
}

func (p *fakeProvider) Diagnose(_ context.Context, req sdk.ValidateRequest) ([]sdk.Finding, error) {
	if p.examine == nil {
		return nil, nil
	}
	return p.examine(req)
}

func (p *fakeProvider) Shutdown(ctx context.Context) error {
	if p.shutdown == nil {
		return nil
	}
	return p.shutdown(ctx)
}

// fakeStrategy and fakeAction are the fakes of the other kinds.
type fakeStrategy struct {
	decide func(sdk.DecideRequest) (sdk.Decision, error)
}

func (fakeStrategy) Describe() sdk.Component { return sdk.Component{Name: "fake"} }

func (s fakeStrategy) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	return s.decide(req)
}

type fakeAction struct {
	run func(sdk.HookRequest) (sdk.HookAnswer, error)
}

func (fakeAction) Describe() sdk.Component { return sdk.Component{Name: "fake"} }

func (a fakeAction) Run(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	return a.run(req)
}

func newPlugin(p *fakeProvider) sdk.Plugin {
	return sdk.Plugin{Name: "fake", Version: "1.0.0", Providers: []sdk.Provider{p}}
}

// start serves a plugin and returns a plain connection to it.
func start(t *testing.T, p sdk.Plugin, opts ...Option) (*grpc.ClientConn, *Server) {
	t.Helper()
	dir := must(os.MkdirTemp("", "serve")) //nolint:usetesting // the path of a socket must be short
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener := must(net.Listen("unix", filepath.Join(dir, "socket")))
	server := must(Start(p, listener, opts...))
	t.Cleanup(server.Close)
	return dialSocket(t, listener.Addr().String()), server
}

func dialSocket(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage)))
	check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// attempt is the kernel's side of an attempt.
type attempt struct {
	t      *testing.T
	stream pb.Provider_ExecuteClient
}

// begin starts an attempt on the fake provider.
func begin(t *testing.T, conn *grpc.ClientConn, req sdk.ExecuteRequest) attempt {
	t.Helper()
	stream := must(pb.NewProviderClient(conn).Execute(t.Context()))
	a := attempt{t, stream}
	a.send(&pb.ExecuteInput{}) // a message of a later version, to be ignored
	a.send(&pb.ExecuteInput{Input: &pb.ExecuteInput_Start{Start: wire.Request[pb.ExecuteStart](fakeRef(sdk.KindProvider), req)}})
	return a
}

func fakeRef(kind sdk.Kind) wire.Ref { return wire.Ref{Kind: kind, Name: "fake"} }

func (a attempt) send(m *pb.ExecuteInput) {
	a.t.Helper()
	if err := a.stream.Send(m); err != nil {
		a.t.Fatal(err)
	}
}

func (a attempt) verdict(v sdk.Verdict) {
	a.t.Helper()
	a.send(&pb.ExecuteInput{Input: &pb.ExecuteInput_Verdict{Verdict: wire.Encode[pb.ToolVerdict](v)}})
}

func (a attempt) stored(turn int32) {
	a.t.Helper()
	a.send(&pb.ExecuteInput{Input: &pb.ExecuteInput_CheckpointStored{CheckpointStored: &pb.CheckpointStored{Turn: turn}}})
}

func (a attempt) cancel(reason string) {
	a.t.Helper()
	a.send(&pb.ExecuteInput{Input: &pb.ExecuteInput_Cancel{Cancel: &pb.Cancel{Reason: reason}}})
}

// next returns the next message that is not a heartbeat.
func (a attempt) next() *pb.ExecuteEvent {
	a.t.Helper()
	for {
		m, err := a.stream.Recv()
		if err != nil {
			a.t.Fatal(err)
		}
		if m.GetHeartbeat() == nil {
			return m
		}
	}
}

// result reads up to the result and closes the kernel's side.
func (a attempt) result() sdk.ExecuteResult {
	a.t.Helper()
	for {
		if m := a.next().GetResult(); m != nil {
			if err := a.stream.CloseSend(); err != nil {
				a.t.Fatal(err)
			}
			return wire.FromResult(m)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
