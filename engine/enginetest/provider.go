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

// Reply is the behavior of an agent for one request. The zero value takes no time, prints one line, and
// leaves a result that asks to continue.
type Reply struct {
	// Provider to Purpose are selectors; all that are set must match. Provider is one of [Fixtures].Providers, Node a
	// node's id, Stage a stage's name, Step the id of a step. Iteration, Attempt and Visit count from 1. Epoch is the
	// number of the session's start: 1 for the run, 2 for its first resume. Purpose defaults to work; questions of
	// strategies have another purpose.
	Provider  string
	Node      string
	Stage     string
	Step      string
	Iteration int
	Attempt   int
	Visit     int
	Epoch     int
	Purpose   sdk.Purpose

	// Delay is the duration of the request.
	Delay time.Duration
	// Work is called after Delay with the agent's request, for example to write files in WorkDir. An error is
	// equivalent to Failure.
	Work func(ctx context.Context, req sdk.ExecuteRequest) error
	// Output is the agent's output. Default: one line with node and iteration.
	Output string
	// Usage is the reported consumption, nil for unknown.
	Usage *sdk.Usage
	// Failure makes the attempt fail. A [failure.Error] sets its kind and whether a retry may help.
	//
	// [failure.Error]: https://pkg.go.dev/github.com/dodo-digital/agent-pipelines/plugin-sdk/failure#Error
	Failure error

	// Decision is the decision in the agent's result: continue, stop or error. Default: continue. Reason
	// explains it; Summary describes the work.
	Decision string
	Reason   string
	Summary  string
	// Outcome is the node's outcome in the agent's result (success, fail, reject, …), Message its reason,
	// Feedback a text for the next node. "": not set.
	Outcome  string
	Message  string
	Feedback string
	// Result is the whole text of result.json, valid or not, instead of the fields above. NoResult leaves no result.
	Result   string
	NoResult bool
	// Artifact is the text of the artifact file, YAML or JSON. "": no file.
	Artifact string
}

func (r Reply) matches(provider string, req sdk.ExecuteRequest) bool {
	return unsetOrEqual(r.Provider, provider) && unsetOrEqual(r.Node, req.Node) && unsetOrEqual(r.Stage, req.Stage) && unsetOrEqual(r.Step, StepID(req)) && unsetOrEqual(r.Iteration, req.Iteration) &&
		unsetOrEqual(r.Attempt, req.Attempt) && unsetOrEqual(r.Visit, req.Visit) && unsetOrEqual(r.Epoch, req.Epoch) &&
		cmp.Or(r.Purpose, sdk.PurposeWork) == cmp.Or(req.Purpose, sdk.PurposeWork)
}

// StepID returns the id of the step that a request is for, "" for a node without steps.
func StepID(req sdk.ExecuteRequest) string {
	_, place, _, _ := event.Key(req.Key).Parse()
	return place.Step
}

// unsetOrEqual reports whether a selector is unset or matches.
func unsetOrEqual[T comparable](selector, value T) bool {
	var unset T
	return selector == unset || selector == value
}

// script answers for all providers of a session. It is safe for concurrent use.
type script struct {
	replies  []Reply
	fallback func(provider string, req sdk.ExecuteRequest) Reply

	mu       sync.Mutex // guards requests
	requests []sdk.ExecuteRequest
}

// check reports replies that no request can match.
func (s *script) check(providers []string) error {
	for i, r := range s.replies {
		switch {
		case r.Provider != "" && !slices.Contains(providers, r.Provider):
			return fmt.Errorf("reply %d is for provider %q; Providers are %s", i, r.Provider, strings.Join(providers, ", "))
		case !slices.Contains([]string{"", "continue", "stop", "error"}, r.Decision):
			return fmt.Errorf("reply %d has decision %q: want continue, stop or error", i, r.Decision)
		case (r.Result != "" || r.NoResult) && r.Decision+r.Reason+r.Summary+r.Outcome+r.Message+r.Feedback != "":
			return fmt.Errorf("reply %d has a decision, reason, summary, outcome, message or feedback beside Result or NoResult", i)
		}
	}
	return nil
}

func (s *script) reply(provider string, req sdk.ExecuteRequest) Reply {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	for _, r := range s.replies {
		if r.matches(provider, req) {
			return r
		}
	}
	if s.fallback != nil {
		return s.fallback(provider, req)
	}
	return Reply{}
}

func (s *script) received() []sdk.ExecuteRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// provider is a mock provider that answers from the script.
type provider struct {
	name   string
	script *script
}

// Describe implements sdk.Provider.
func (p provider) Describe() sdk.Component {
	return sdk.Component{
		Name: p.name, Summary: "answers from the test's fixtures",
		Provider: &sdk.ProviderTraits{Locality: sdk.LocalityLocal, Usage: sdk.ReportsSome, Cost: sdk.ReportsSome, SoftCancel: true},
	}
}

// Execute implements sdk.Provider.
func (p provider) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	r := p.script.reply(p.name, req)
	answer := sdk.ExecuteResult{Output: cmp.Or(r.Output, fmt.Sprintf("%s %d\n", req.Node, req.Iteration)), Usage: r.Usage, Model: req.Model}
	err := wait(ctx, r.Delay)
	if err == nil && r.Work != nil {
		err = r.Work(ctx, req)
	}
	if err = cmp.Or(err, r.Failure); err != nil {
		return answer, err
	}
	if req.Purpose == sdk.PurposeQuestion {
		return answer, nil
	}
	return answer, r.writeResult(req.Paths.Result)
}

// artifactFile is the name of an agent's artifact file, in the directory of its result.
const artifactFile = "artifact.yaml"

// writeResult writes the artifact and the result.
func (r Reply) writeResult(path string) error {
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

// result is the content of a reply's result.json.
type result struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Summary  string `json:"summary"`
	Outcome  string `json:"outcome,omitempty"`
	Message  string `json:"message,omitempty"`
	Feedback string `json:"feedback,omitempty"`
}

// wait waits for a duration, or returns the cause of ctx's end.
func wait(ctx context.Context, d time.Duration) error {
	over, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-over.Done()
	return context.Cause(ctx)
}
