package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"

	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// callLimit is the deadline of one unary call.
const callLimit = 10 * time.Second

func checkInit(_ context.Context, _ *trial, s *subprocess.Session, c sdk.Component) finding {
	if err := s.InitErrors[wire.Ref{Kind: c.Kind, Name: c.Name}]; err != nil {
		return fail("Init must succeed in an empty project; what work needs belongs to Validate", "%s", subprocess.Shorten(err.Error()))
	}
	return pass("")
}

// validate calls Validate without the checks of package client: a failure is an answer, an error is
// not.
func validate(ctx context.Context, s *subprocess.Session, c sdk.Component, model string, config []byte) (*pb.Failure, error) {
	ctx, cancel := subprocess.WithTimeout(ctx, callLimit)
	defer cancel()
	response, err := pb.NewPluginClient(s.Conn).Validate(ctx, &pb.ValidateRequest{Component: ref(c), Model: model, Config: config})
	return response.GetFailure(), err
}

func ref(c sdk.Component) *pb.ComponentRef {
	return wire.Encode[pb.ComponentRef](wire.Ref{Kind: c.Kind, Name: c.Name})
}

// junk are configurations that no component accepts.
var junk = [][]byte{[]byte(`{"unfinished": `), []byte("\x00\xff\xfe"), []byte(`[[[[`)}

// checkConfig checks that a component with settings refuses invalid ones.
func checkConfig(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "let Validate answer with a failure of kind config_invalid that names the setting"
	_, _, refused := t.opts.Cases.settings(c)
	accepted := 0
	for i, config := range append(append([][]byte{}, junk...), raws(refused)...) {
		f, err := validate(ctx, s, c, "", config)
		switch {
		case err != nil:
			return fail("answer with a failure: a gRPC status looks like a broken plugin", "Validate of %q: %s", subprocess.Shorten(string(config)), explain(ctx, s, err))
		case f == nil && i >= len(junk):
			return fail(do, "it accepts %s, which it must refuse by the cases", subprocess.Shorten(string(config)))
		case f == nil:
			accepted++
		case f.GetKind() != string(failure.ConfigInvalid):
			return fail(do, "it refuses %q as %q: %s", subprocess.Shorten(string(config)), f.GetKind(), subprocess.Shorten(f.GetMessage()))
		}
	}
	switch {
	case accepted == len(junk) && len(c.ConfigSchema) == 0:
		return skip("a Validate, if it has settings", "it has no settings: it declares none and accepts anything")
	case accepted > 0:
		return fail(do, "it accepts a configuration that is not a JSON object")
	}
	return pass("%d refused", len(junk)+len(refused))
}

func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, raw := range list {
		out = append(out, raw)
	}
	return out
}

// checkUnknownComponent calls every service for a component that does not exist.
func checkUnknownComponent(ctx context.Context, _ *trial, s *subprocess.Session, _ sdk.Component) finding {
	const do = "find the component of each request by kind and name; answer with a failure if there is none"
	var words string
	for _, kind := range []sdk.Kind{sdk.KindProvider, sdk.KindTermination, sdk.KindHookAction} {
		for _, call := range calls(s, sdk.Component{Kind: kind, Name: "no-such-component"}) {
			message, err := call.make(ctx)
			switch {
			case status.Code(err) == codes.Unimplemented && call.optional:
			case err != nil && s.Alive(ctx) != nil:
				return fail(do, "%s of %s no-such-component: %s", call.name, kind, explain(ctx, s, err))
			case err == nil && message == "":
				return fail(do, "%s of %s no-such-component succeeds", call.name, kind)
			case message != "":
				words = message
			}
		}
	}
	return pass("%s", subprocess.Shorten(words))
}

// call is one call on a component. optional marks calls of the component kind's service, which may be
// missing. make returns the message of the answered failure.
type call struct {
	name     string
	optional bool
	make     func(ctx context.Context) (message string, err error)
}

// calls returns all calls on a component, with requests that are otherwise empty.
func calls(s *subprocess.Session, c sdk.Component) []call {
	unary := func(do func(ctx context.Context) (interface{ GetFailure() *pb.Failure }, error)) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			ctx, cancel := subprocess.WithTimeout(ctx, callLimit)
			defer cancel()
			response, err := do(ctx)
			if err != nil {
				return "", err
			}
			return response.GetFailure().GetMessage(), nil
		}
	}
	type answer = interface{ GetFailure() *pb.Failure }
	all := []call{
		{"Init", false, unary(func(ctx context.Context) (answer, error) {
			return pb.NewPluginClient(s.Conn).Init(ctx, &pb.InitRequest{Component: ref(c)})
		})},
		{"Validate", false, unary(func(ctx context.Context) (answer, error) {
			return pb.NewPluginClient(s.Conn).Validate(ctx, &pb.ValidateRequest{Component: ref(c)})
		})},
	}
	switch c.Kind {
	case sdk.KindProvider:
		return append(all, call{"Execute", true, unary(func(ctx context.Context) (answer, error) { return executeEmpty(ctx, s, c) })})
	case sdk.KindTermination:
		return append(all, call{"Decide", true, unary(func(ctx context.Context) (answer, error) {
			return pb.NewTerminationClient(s.Conn).Decide(ctx, &pb.DecideRequest{Component: ref(c)})
		})})
	default:
		return append(all, call{"Run", true, unary(func(ctx context.Context) (answer, error) {
			return pb.NewHookActionClient(s.Conn).Run(ctx, &pb.HookRequest{Component: ref(c)})
		})})
	}
}

// executeEmpty runs an empty attempt and returns its result.
func executeEmpty(ctx context.Context, s *subprocess.Session, c sdk.Component) (*pb.ExecuteResult, error) {
	stream, err := pb.NewProviderClient(s.Conn).Execute(ctx)
	if err != nil {
		return nil, err
	}
	start := &pb.ExecuteInput{Input: &pb.ExecuteInput_Start{Start: &pb.ExecuteStart{Component: ref(c)}}}
	if err := stream.Send(start); err != nil {
		_, err = stream.Recv() // returns the reason
		return nil, err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		if result := event.GetResult(); result != nil {
			_ = stream.CloseSend()
			return result, nil
		}
	}
}

// checkConcurrent makes many concurrent calls: the cheapest call, and the component's work if it is free.
func checkConcurrent(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	model, config, _ := t.opts.Cases.settings(c)
	want, err := validate(ctx, s, c, model, config)
	if err != nil {
		return fail("answer with a failure", "Validate: %s", explain(ctx, s, err))
	}
	atOnce := t.opts.scale.atOnce
	faults := concurrently(atOnce, func() error {
		got, err := validate(ctx, s, c, model, config)
		switch {
		case err != nil:
			return err
		case got.GetKind() != want.GetKind():
			return fmt.Errorf("it answers %q, alone %q", got.GetKind(), want.GetKind())
		}
		return nil
	})
	if len(faults) > 0 {
		return fail("make Validate safe for concurrent use", "%d of %d concurrent calls of Validate: %s", len(faults), atOnce, explain(ctx, s, faults[0]))
	}
	work, name := t.work(s, c)
	if work == nil {
		return pass("Validate only; %s", name)
	}
	if faults := concurrently(atOnce, func() error { return work(ctx) }); len(faults) > 0 {
		return fail("make it safe for concurrent use, or declare concurrency serial", "%d of %d concurrent calls of %s: %s", len(faults), atOnce, name, explain(ctx, s, faults[0]))
	}
	return pass("Validate and %s", name)
}

// concurrently makes concurrent calls and returns their errors.
func concurrently(n int, call func() error) []error {
	var mu sync.Mutex
	var faults []error
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if err := call(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, err)
			}
		})
	}
	calls.Wait()
	return faults
}

// work returns the component's work as one call, nil if the author did not declare it free. name
// names the work, or the missing case.
func (t *trial) work(s *subprocess.Session, c sdk.Component) (do func(context.Context) error, name string) {
	for _, row := range []string{"success", "decides", "answers"} {
		if t.failed[result{row, label(c)}] {
			return nil, "its work failed before"
		}
	}
	switch c.Kind {
	case sdk.KindProvider:
		cases := t.opts.Cases.Providers[c.Name]
		if cases.Free && cases.Normal != nil {
			return func(ctx context.Context) error { return t.attemptOnce(ctx, s, c, *cases.Normal) }, "Execute"
		}
		return nil, "attempts too with a case normal and \"free\": true"
	case sdk.KindTermination:
		cases := t.opts.Cases.Terminations[c.Name]
		if cases.Free && len(cases.Decisions) > 0 {
			return func(ctx context.Context) error {
				_, err := t.decide(ctx, s, c, cases, cases.Decisions[0])
				return err
			}, "Decide"
		}
		return nil, "decisions too with decisions and \"free\": true"
	default:
		cases := t.opts.Cases.HookActions[c.Name]
		if cases.Free && len(cases.Firings) > 0 {
			return func(ctx context.Context) error {
				_, err := t.fire(ctx, s, c, cases, cases.Firings[0], subprocess.NewMarker())
				return err
			}, "Run"
		}
		return nil, "firings too with firings and \"free\": true"
	}
}

// checkLarge sends more than gRPC's own limit, as a configuration and as a prompt. The
// configuration may be refused.
func checkLarge(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "raise the gRPC server's limits to 64 MiB (67108864 bytes) in both directions"
	config := []byte(`{"verify_padding": "` + strings.Repeat("x", t.opts.scale.bytes) + `"}`)
	if _, err := validate(ctx, s, c, "", config); err != nil {
		return fail(do, "Validate with %d bytes: %s", len(config), explain(ctx, s, err))
	}
	cases := t.opts.Cases.Providers[c.Name]
	if work, _ := t.work(s, c); c.Kind != sdk.KindProvider || work == nil {
		return pass("as a configuration")
	}
	attempt := *cases.Normal
	attempt.Prompt += strings.Repeat(" ", t.opts.scale.bytes)
	if err := t.attemptOnce(ctx, s, c, attempt); err != nil {
		return fail(do, "an attempt with a prompt of %d bytes: %s", len(attempt.Prompt), explain(ctx, s, err))
	}
	return pass("as a configuration and as a prompt")
}

// checkNoise checks for output on stdout after the handshake, which the host reads and drops.
func checkNoise(ctx context.Context, _ *trial, s *subprocess.Session, _ sdk.Component) finding {
	if err := s.Alive(ctx); err != nil {
		return fail("write to stderr", "%s", subprocess.Shorten(err.Error()))
	}
	s.Stdout.Mu.Lock()
	total := s.Stdout.Total
	s.Stdout.Mu.Unlock()
	line, rest, _ := subprocess.FirstLine(s.Stdout.Text())
	if extra := total - int64(len(line)+1); extra > 0 {
		return pass("it still answers; %d bytes were dropped, beginning with: %s", extra, subprocess.Shorten(rest))
	}
	return pass("it printed nothing")
}
