package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"

	pb "github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire/pluginv1"
)

// callLimit is the deadline of one unary call.
const callLimit = 10 * time.Second

func checkInit(_ context.Context, _ *trial, s *subprocess.Session, c sdk.Component) finding {
	if err := s.InitErrors[wire.Ref{Kind: c.Kind, Name: c.Name}]; err != nil {
		return fail("Init must succeed in an empty project; the requirements of the work belong to Validate", "%s", subprocess.Shorten(err.Error()))
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

// invalidConfigs are configurations that are not JSON objects, which no component with settings may accept.
var invalidConfigs = [][]byte{[]byte(`{"unfinished": `), []byte("\x00\xff\xfe"), []byte(`[[[[`)}

// checkConfig checks that a component with settings refuses invalid settings.
func checkConfig(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "let Validate answer with a failure of kind config_invalid that names the setting"
	_, _, refused := t.opts.Cases.settings(c)
	accepted := 0
	for i, config := range append(append([][]byte{}, invalidConfigs...), raws(refused)...) {
		f, err := validate(ctx, s, c, "", config)
		switch {
		case err != nil:
			return fail("answer with a failure: a gRPC status looks like a broken plugin", "Validate of %q: %s", subprocess.Shorten(string(config)), explain(ctx, s, err))
		case f == nil && i >= len(invalidConfigs):
			return fail(do, "it accepts %s, which it must refuse by the cases", subprocess.Shorten(string(config)))
		case f == nil:
			accepted++
		case f.GetKind() != string(failure.ConfigInvalid):
			return fail(do, "it refuses %q as %q: %s", subprocess.Shorten(string(config)), f.GetKind(), subprocess.Shorten(f.GetMessage()))
		}
	}
	switch {
	case accepted == len(invalidConfigs) && len(c.ConfigSchema) == 0:
		return skip("a Validate, if it has settings", "it has no settings: it declares none and accepts anything")
	case accepted > 0:
		return fail(do, "it accepts a configuration that is not a JSON object")
	}
	return pass("%d refused", len(invalidConfigs)+len(refused))
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
			switch err := call.make(ctx); {
			case err == nil:
				return fail(do, "%s of %s no-such-component succeeds", call.name, kind)
			case s.Alive(ctx) != nil:
				return fail(do, "%s of %s no-such-component: %s", call.name, kind, explain(ctx, s, err))
			default:
				words = err.Error()
			}
		}
	}
	return pass("%s", subprocess.Shorten(words))
}

// call is one call on a component.
type call struct {
	name string
	make func(ctx context.Context) error
}

// calls returns all calls on a component, with requests that are otherwise empty. A missing service is an error of its
// call, as a failure is.
func calls(s *subprocess.Session, c sdk.Component) []call {
	var remote any
	var work call
	switch c.Kind {
	case sdk.KindProvider:
		provider := s.Client.Provider(c)
		remote, work = provider, call{"Execute", func(ctx context.Context) error {
			_, err := provider.Execute(ctx, sdk.ExecuteRequest{}, &record.Exchange{})
			return err
		}}
	case sdk.KindTermination:
		strategy := s.Client.Termination(c)
		remote, work = strategy, call{"Decide", func(ctx context.Context) error {
			_, err := strategy.Decide(ctx, sdk.DecideRequest{})
			return err
		}}
	default:
		action := s.Client.HookAction(c)
		remote, work = action, call{"Run", func(ctx context.Context) error {
			_, err := action.Run(ctx, sdk.HookRequest{})
			return err
		}}
	}
	all := []call{
		{"Init", func(ctx context.Context) error { return remote.(sdk.Initializer).Init(ctx, sdk.InitRequest{}) }},
		{"Validate", func(ctx context.Context) error { return remote.(sdk.Validator).Validate(ctx, sdk.ValidateRequest{}) }},
		work,
	}
	for i, one := range all {
		all[i].make = func(ctx context.Context) error {
			ctx, cancel := subprocess.WithTimeout(ctx, callLimit)
			defer cancel()
			return one.make(ctx)
		}
	}
	return all
}

// checkConcurrent makes many concurrent calls of Validate, and of the component's work if the work is free.
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
			return fmt.Errorf("got a failure of kind %q, where a single call got %q", got.GetKind(), want.GetKind())
		}
		return nil
	})
	if len(faults) > 0 {
		return fail("make Validate safe for concurrent use", "%d of %d concurrent calls of Validate: %s", len(faults), atOnce, explain(ctx, s, faults[0]))
	}
	work, name := t.work(s, c, nil)
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

// work returns the component's work as one call, nil if the author did not declare it free. name is the name of the
// call, or the reason why there is none. A configuration that is not nil replaces the case's.
func (t *trial) work(s *subprocess.Session, c sdk.Component, config json.RawMessage) (do func(context.Context) error, name string) {
	for _, row := range []string{"success", "decides", "answers"} {
		if t.failed[result{row, label(c)}] {
			return nil, "its work failed before"
		}
	}
	switch c.Kind {
	case sdk.KindProvider:
		cases := t.opts.Cases.Providers[c.Name]
		if !cases.Free || cases.Normal == nil {
			return nil, "attempts too with a case normal and \"free\": true"
		}
		one := *cases.Normal
		one.Config = firstJSON(config, one.Config)
		return func(ctx context.Context) error { return t.attemptOnce(ctx, s, c, one) }, "Execute"
	case sdk.KindTermination:
		cases := t.opts.Cases.Terminations[c.Name]
		if !cases.Free || len(cases.Decisions) == 0 {
			return nil, "decisions too with decisions and \"free\": true"
		}
		one := cases.Decisions[0]
		one.Config, one.Result, one.State = firstJSON(config, one.Config), firstJSON(config, one.Result), firstJSON(config, one.State)
		return func(ctx context.Context) error { _, err := t.decide(ctx, s, c, cases, one); return err }, "Decide"
	default:
		cases := t.opts.Cases.HookActions[c.Name]
		if !cases.Free || len(cases.Firings) == 0 {
			return nil, "firings too with firings and \"free\": true"
		}
		one := cases.Firings[0]
		one.Config = firstJSON(config, one.Config)
		return func(ctx context.Context) error {
			_, err := t.fire(ctx, s, c, one, subprocess.NewMarker())
			return err
		}, "Run"
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
	if work, _ := t.work(s, c, nil); c.Kind != sdk.KindProvider || work == nil {
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
	line, rest, _ := strings.Cut(s.Stdout.Text(), "\n")
	if extra := total - int64(len(line)+1); extra > 0 {
		return pass("it still answers; %d bytes were dropped, beginning with: %s", extra, subprocess.Shorten(rest))
	}
	return pass("it printed nothing")
}
