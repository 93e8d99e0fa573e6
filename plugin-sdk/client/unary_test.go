package client_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func describing(m *pb.DescribeResponse) *fake {
	return &fake{describe: func(context.Context) (*pb.DescribeResponse, error) { return m, nil }}
}

func TestDescribe(t *testing.T) {
	c, _ := dial(t, describing(&pb.DescribeResponse{
		Name: "x", Version: "1.2.3", Protocols: []int32{1, 2},
		Components: []*pb.Component{{Kind: pb.Kind_KIND_TERMINATION, Name: "t"}, {Kind: 77, Name: "of a later version"}},
	}))
	got, err := c.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Description{
		Name: "x", Version: "1.2.3", Protocols: []int{1, 2},
		Components: []sdk.Component{{Kind: sdk.KindTermination, Name: "t", Concurrency: sdk.ConcurrencySafe}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeRefusesInvalidAnswer(t *testing.T) {
	c, _ := dial(t, describing(&pb.DescribeResponse{Name: "X Y", Version: "one"}))
	_, err := c.Describe(t.Context())
	wantFailure(t, err, failure.PluginInvalid, `plugin name "X Y"`)
	wantFailure(t, err, failure.PluginInvalid, `plugin version "one"`)
	wantFailure(t, err, failure.PluginInvalid, "the plugin has no component")
}

func TestUnaryCallsAreBounded(t *testing.T) {
	c, _ := dial(t, &fake{describe: func(ctx context.Context) (*pb.DescribeResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, client.CallLimit(20*time.Millisecond))
	_, err := c.Describe(t.Context())
	wantFailure(t, err, failure.ProviderTimeout, "did not answer describe within 20ms")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Describe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the caller's context", err)
	}
}

func TestUnimplementedCalls(t *testing.T) {
	c, _ := dial(t, &fake{})
	_, decideErr := c.Termination(sdk.Component{Name: "t"}).Decide(t.Context(), sdk.DecideRequest{})
	_, runErr := c.HookAction(sdk.Component{Name: "h"}).Run(t.Context(), sdk.HookRequest{})
	for name, err := range map[string]error{
		"health":   c.Health(t.Context()),
		"shutdown": c.Shutdown(t.Context()),
		"init":     c.Provider(sdk.Component{Name: "p"}).(sdk.Initializer).Init(t.Context(), sdk.InitRequest{}),
		"validate": c.Provider(sdk.Component{Name: "p"}).(sdk.Validator).Validate(t.Context(), sdk.ValidateRequest{}),
		"release":  c.Termination(sdk.Component{Name: "t"}).(sdk.Releaser).Release(t.Context(), "s"),
		"decide":   decideErr,
		"run":      runErr,
	} {
		wantFailure(t, err, failure.PluginInvalid, name)
	}
}

func TestReportedFailureKeepsItsStructure(t *testing.T) {
	want := &failure.Error{
		Kind: "word_of_a_later_version", Message: "m", Hint: "h", Retryable: true, RetryAfterSeconds: 1.5, Detail: "d",
	}
	c, _ := dial(t, &fake{decide: func(*pb.DecideRequest) (*pb.DecideResponse, error) {
		return &pb.DecideResponse{Failure: &pb.Failure{
			Kind: "word_of_a_later_version", Message: "m", Hint: "h", Retryable: true, RetryAfterSeconds: 1.5, Detail: "d",
		}}, nil
	}})
	_, err := c.Termination(sdk.Component{Name: "t"}).Decide(t.Context(), sdk.DecideRequest{})
	if diff := cmp.Diff(want, failure.From(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSerialComponentsGetOneCallAtATime(t *testing.T) {
	var at, most atomic.Int32
	c, _ := dial(t, &fake{execute: func(stream pb.Provider_ExecuteServer) error {
		most.Store(max(most.Load(), at.Add(1)))
		time.Sleep(5 * time.Millisecond) // time for another call to overlap
		at.Add(-1)
		return stream.Send(result("done"))
	}})
	component := sdk.Component{Name: "fake", Concurrency: sdk.ConcurrencySerial}
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if _, err := c.Provider(component).Execute(t.Context(), sdk.ExecuteRequest{}, &plugintest.Exchange{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if most.Load() != 1 {
		t.Errorf("%d calls at once on a serial component", most.Load())
	}
}

func TestWaitingForASerialComponentCanBeCancelled(t *testing.T) {
	c, _ := dial(t, untilCancelled(func(stream pb.Provider_ExecuteServer, _ string) error { return stream.Send(result("")) }))
	p := c.Provider(sdk.Component{Name: "fake", Concurrency: sdk.ConcurrencySerial})
	first, endFirst := context.WithCancel(t.Context())
	defer endFirst()
	x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) {
		second, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Execute(second, sdk.ExecuteRequest{}, &plugintest.Exchange{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
		endFirst()
	}}
	if _, err := p.Execute(first, sdk.ExecuteRequest{}, x); err != nil {
		t.Error(err)
	}
}

// A plugin without Examine returns no findings and no error; the findings of a plugin with Examine
// arrive unchanged.
func TestDiagnose(t *testing.T) {
	examiner := func(f *fake) sdk.Diagnoser {
		c, _ := dial(t, f)
		return c.Provider(sdk.Component{Name: "p"}).(sdk.Diagnoser)
	}
	if got, err := examiner(&fake{}).Diagnose(t.Context(), sdk.ValidateRequest{}); err != nil || got != nil {
		t.Errorf("found out %v: %v", got, err)
	}
	want := []sdk.Finding{{About: "login", State: sdk.FindingUnclear, Detail: "none", Hint: "log in"}}
	got, err := examiner(&fake{examine: func(m *pb.ExamineRequest) (*pb.ExamineResponse, error) {
		if m.GetComponent().GetName() != "p" || m.GetModel() != "m" {
			t.Errorf("asked about %v", m)
		}
		return &pb.ExamineResponse{Findings: []*pb.Finding{{About: "login", State: "unclear", Detail: "none", Hint: "log in"}}}, nil
	}}).Diagnose(t.Context(), sdk.ValidateRequest{Model: "m"})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
