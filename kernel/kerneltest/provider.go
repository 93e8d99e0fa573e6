package kerneltest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Reply is what an agent does. The zero value takes no time, says one line, and leaves a result that asks to go on.
type Reply struct {
	// Which requests it is for; all that are set must hold. Provider is one of [Fixtures].Providers, Node a node's
	// id, Stage a stage's name. Iteration, Attempt and Visit count from 1. Epoch is which start of the session
	// asks: 1 the run, 2 its first resume. Purpose defaults to work; a strategy's question has its own.
	Provider  string
	Node      string
	Stage     string
	Iteration int
	Attempt   int
	Visit     int
	Epoch     int
	Purpose   sdk.Purpose

	// Delay is how long it takes.
	Delay time.Duration
	// Work is done after that, with the agent's request: files are written in WorkDir, say, or something is asked
	// of the session. An error is as good as Failure.
	Work func(ctx context.Context, req sdk.ExecuteRequest) error
	// Output is what the agent says. Default: one line with node and iteration.
	Output string
	// Usage is what it consumed, nil for unknown.
	Usage *sdk.Usage
	// Failure makes the attempt fail. A [failure.Error] says how, and whether trying again may help.
	//
	// [failure.Error]: https://pkg.go.dev/github.com/dodo-digital/agent-pipelines/plugin-sdk/failure#Error
	Failure error

	// Decision is what the agent asks for in its result: continue, stop or error. Default: continue. Reason says
	// why, and Summary what it did.
	Decision string
	Reason   string
	Summary  string
	// Result is the text of result.json in place of these three, whatever it is. NoResult: the agent leaves none.
	Result   string
	NoResult bool
}

func (r Reply) fits(provider string, req sdk.ExecuteRequest) bool {
	return same(r.Provider, provider) && same(r.Node, req.Node) && same(r.Stage, req.Stage) && same(r.Iteration, req.Iteration) &&
		same(r.Attempt, req.Attempt) && same(r.Visit, req.Visit) && same(r.Epoch, req.Epoch) &&
		cmp.Or(r.Purpose, sdk.PurposeWork) == cmp.Or(req.Purpose, sdk.PurposeWork)
}

// same reports whether a wanted value is unset or met.
func same[T comparable](wanted, is T) bool {
	var unset T
	return wanted == unset || wanted == is
}

// script is what all providers of a session answer by. It is safe for concurrent use.
type script struct {
	replies []Reply

	mu       sync.Mutex // guards:
	requests []sdk.ExecuteRequest
}

// check finds replies that no request can get.
func (s *script) check(providers []string) error {
	for i, r := range s.replies {
		switch {
		case r.Provider != "" && !slices.Contains(providers, r.Provider):
			return fmt.Errorf("reply %d is for provider %q; Providers are %s", i, r.Provider, strings.Join(providers, ", "))
		case !slices.Contains([]string{"", "continue", "stop", "error"}, r.Decision):
			return fmt.Errorf("reply %d decides %q; an agent says continue, stop or error", i, r.Decision)
		case (r.Result != "" || r.NoResult) && r.Decision+r.Reason+r.Summary != "":
			return fmt.Errorf("reply %d has a decision, reason or summary beside Result or NoResult", i)
		}
	}
	return nil
}

func (s *script) take(provider string, req sdk.ExecuteRequest) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	for _, r := range s.replies {
		if r.fits(provider, req) {
			return r
		}
	}
	return Reply{}
}

func (s *script) asked() []sdk.ExecuteRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// provider answers for one name by the script.
type provider struct {
	name   string
	script *script
}

// Describe implements sdk.Provider.
func (p provider) Describe() sdk.Component {
	return sdk.Component{
		Name: p.name, Summary: "answers by the fixtures of a test",
		Provider: &sdk.ProviderTraits{Locality: sdk.LocalityLocal, Usage: sdk.ReportsSome, Cost: sdk.ReportsSome, SoftCancel: true},
	}
}

// Execute implements sdk.Provider.
func (p provider) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	r := p.script.take(p.name, req)
	said := sdk.ExecuteResult{Output: cmp.Or(r.Output, fmt.Sprintf("%s %d\n", req.Node, req.Iteration)), Usage: r.Usage, Model: req.Model}
	err := pass(ctx, r.Delay)
	if err == nil && r.Work != nil {
		err = r.Work(ctx, req)
	}
	if err = cmp.Or(err, r.Failure); err != nil {
		return said, err
	}
	if req.Purpose == sdk.PurposeQuestion || r.NoResult {
		return said, nil
	}
	return said, r.leave(req.Paths.Result)
}

// leave writes the result.
func (r Reply) leave(path string) error {
	text := []byte(r.Result)
	if r.Result == "" {
		var err error
		text, err = json.Marshal(map[string]string{
			"decision": cmp.Or(r.Decision, "continue"), "reason": r.Reason, "summary": cmp.Or(r.Summary, "done"),
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(path, text, 0o644)
}

// pass lets time pass, or returns the cause of ctx's end.
func pass(ctx context.Context, d time.Duration) error {
	over, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-over.Done()
	return context.Cause(ctx)
}

// obedient is a termination strategy that does what the agent asks for.
type obedient struct{ name string }

// Describe implements sdk.Termination.
func (o obedient) Describe() sdk.Component {
	return sdk.Component{Name: o.name, Summary: "does what the agent asks for"}
}

// Decide implements sdk.Termination.
func (obedient) Decide(_ context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	switch req.Hint {
	case "stop":
		return sdk.Decision{Action: sdk.DecisionStop, Reason: "the agent said stop"}, nil
	case "error":
		return sdk.Decision{Action: sdk.DecisionError, Reason: "the agent said error"}, nil
	default:
		return sdk.Decision{Action: sdk.DecisionContinue}, nil
	}
}
