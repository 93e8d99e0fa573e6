package enginetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Reply is what an agent does. The zero value takes no time, says one line, and leaves a result that asks to go on.
type Reply struct {
	// Which requests it is for; all that are set must hold. Provider is one of [Fixtures].Providers, Node a node's
	// id, Stage a stage's name, Step the id of one of the node's steps. Iteration, Attempt and Visit count from 1. Epoch is which start of the session
	// asks: 1 the run, 2 its first resume. Purpose defaults to work; a strategy's question has its own.
	Provider  string
	Node      string
	Stage     string
	Step      string
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
	// Outcome is how the agent says that the node ended (success, fail, reject, …), Message why, and Feedback what
	// whoever works next because of it should know. "": nothing is said of it.
	Outcome  string
	Message  string
	Feedback string
	// Result is the text of result.json in place of these six, whatever it is. NoResult: the agent leaves none.
	Result   string
	NoResult bool
	// Artifact is the text of the artifact, YAML or JSON, that the agent leaves in a file. "": it leaves none.
	Artifact string
}

func (r Reply) fits(provider string, req sdk.ExecuteRequest) bool {
	return same(r.Provider, provider) && same(r.Node, req.Node) && same(r.Stage, req.Stage) && same(r.Step, Step(req)) && same(r.Iteration, req.Iteration) &&
		same(r.Attempt, req.Attempt) && same(r.Visit, req.Visit) && same(r.Epoch, req.Epoch) &&
		cmp.Or(r.Purpose, sdk.PurposeWork) == cmp.Or(req.Purpose, sdk.PurposeWork)
}

// Step is the id of the step that a request is for, "" for a node without steps.
func Step(req sdk.ExecuteRequest) string {
	_, place, _, _ := event.Key(req.Key).Parse()
	return place.Step
}

// same reports whether a wanted value is unset or met.
func same[T comparable](wanted, is T) bool {
	var unset T
	return wanted == unset || wanted == is
}

// script is what all providers of a session answer by. It is safe for concurrent use.
type script struct {
	replies []Reply
	more    func(provider string, req sdk.ExecuteRequest) Reply

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
		case (r.Result != "" || r.NoResult) && r.Decision+r.Reason+r.Summary+r.Outcome+r.Message+r.Feedback != "":
			return fmt.Errorf("reply %d has a decision, reason, summary, outcome, message or feedback beside Result or NoResult", i)
		}
	}
	return nil
}

func (s *script) take(provider string, req sdk.ExecuteRequest) Reply {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	for _, r := range s.replies {
		if r.fits(provider, req) {
			return r
		}
	}
	if s.more != nil {
		return s.more(provider, req)
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
	if req.Purpose == sdk.PurposeQuestion {
		return said, nil
	}
	return said, r.leave(req.Paths.Result)
}

// artifactFile is where agents leave an artifact, in the directory of the result.
const artifactFile = "artifact.yaml"

// leave writes the artifact and the result.
func (r Reply) leave(path string) error {
	if r.Artifact != "" {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), artifactFile), []byte(r.Artifact), 0o644); err != nil {
			return err
		}
	}
	if r.NoResult {
		return nil
	}
	text := []byte(r.Result)
	if r.Result == "" {
		var err error
		text, err = json.Marshal(result{
			Decision: cmp.Or(r.Decision, "continue"), Reason: r.Reason, Summary: cmp.Or(r.Summary, "done"),
			Outcome: r.Outcome, Message: r.Message, Feedback: r.Feedback,
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(path, text, 0o644)
}

// result is what a reply leaves in result.json.
type result struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Summary  string `json:"summary"`
	Outcome  string `json:"outcome,omitempty"`
	Message  string `json:"message,omitempty"`
	Feedback string `json:"feedback,omitempty"`
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
