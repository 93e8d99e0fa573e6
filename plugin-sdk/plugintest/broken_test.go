package plugintest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// brokenVariable names the broken component for a child process of this test.
const brokenVariable = "PLUGINTEST_BROKEN"

// TestSuiteFindsFaults runs the suite on components with one fault each, in a child process because
// the suite must fail there.
func TestSuiteFindsFaults(t *testing.T) {
	for name, want := range complaints() {
		t.Run(name, func(t *testing.T) { complains(t, "^TestBroken$", name, want) })
	}
}

// complains runs a test of this binary on the broken component, which must fail with this text.
func complains(t *testing.T, test, fault, want string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+test)
	cmd.Env = append(os.Environ(), brokenVariable+"="+fault)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the suite passes:\n%s", out)
	}
	if !strings.Contains(string(out), want) {
		t.Errorf("the suite fails without saying %q:\n%s", want, out)
	}
}

// complaints maps the faults to the suite's messages.
func complaints() map[string]string {
	return map[string]string{
		"bad name":           "want lower case letters",
		"bad schema":         "config_schema is no JSON Schema",
		"mute":               "no output",
		"dishonest":          "ended as a success",
		"accepts garbage":    "validate accepts",
		"wrong kind":         "with hook_failed, want config_invalid",
		"truncates":          "want more than 4 MiB",
		"leaks":              "found unexpected goroutines",
		"decides nothing":    `unknown action ""`,
		"asks nothing":       "ask without a question's prompt",
		"changes its mind":   "for the same request",
		"wrong decision":     "got stop (), want continue",
		"forgets to release": "release: no such session",
		"pauses at the end":  "pause at session_end",
		"facts are no facts": "the facts are not a JSON object",
	}
}

// TestBroken runs the suite on the component that the environment names. Only TestSuiteFindsFaults
// sets it.
func TestBroken(t *testing.T) {
	name := os.Getenv(brokenVariable)
	if name == "" {
		return
	}
	switch name {
	case "decides nothing", "asks nothing", "changes its mind", "wrong decision", "forgets to release":
		plugintest.Termination(t, plugintest.TerminationConfig{
			New:    func(testing.TB) sdk.Termination { return &badStrategy{fault: name} },
			Config: json.RawMessage(`{}`),
			Cases:  []plugintest.DecideCase{{Name: "case", Want: sdk.DecisionContinue}},
		})
	case "pauses at the end", "facts are no facts":
		plugintest.HookAction(t, plugintest.HookActionConfig{
			New:    func(testing.TB) sdk.HookAction { return badAction{fault: name} },
			Config: json.RawMessage(`{}`),
			Cases:  []plugintest.HookCase{{Name: "case", Request: sdk.HookRequest{Point: sdk.SessionEnd}}},
		})
	default:
		plugintest.Provider(t, plugintest.ProviderConfig{
			New:    func(testing.TB) sdk.Provider { return badProvider{fault: name} },
			Normal: plugintest.Case{Prompt: "hello"},
			Slow:   plugintest.Case{Prompt: "slow"},
			Large:  plugintest.Case{Prompt: "large"},
		})
	}
}

// badProvider echoes the prompt, except for its fault.
type badProvider struct{ fault string }

func (p badProvider) Describe() sdk.Component {
	c := sdk.Component{Name: "bad"}
	switch p.fault {
	case "bad name":
		c.Name = "Bad Name"
	case "bad schema":
		c.ConfigSchema = json.RawMessage(`"object"`)
	}
	return c
}

func (p badProvider) Validate(_ context.Context, req sdk.ValidateRequest) error {
	switch {
	case p.fault == "accepts garbage" || len(req.Config) == 0:
		return nil
	case p.fault == "wrong kind":
		return failure.New(failure.HookFailed, "no")
	default:
		return failure.New(failure.ConfigInvalid, "no settings are known")
	}
}

func (p badProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Prompt == "slow" {
		<-ctx.Done()
		if p.fault != "dishonest" {
			return sdk.ExecuteResult{}, ctx.Err()
		}
	}
	switch p.fault {
	case "mute":
		return sdk.ExecuteResult{}, nil
	case "truncates":
		return sdk.ExecuteResult{Output: req.Prompt[:min(len(req.Prompt), 1<<20)]}, nil
	case "leaks":
		go time.Sleep(time.Minute) // the fault
	}
	return sdk.ExecuteResult{Output: req.Prompt}, nil
}

// badStrategy always continues, except for its fault.
type badStrategy struct {
	fault string
	calls int
}

func (*badStrategy) Describe() sdk.Component {
	return sdk.Component{Name: "bad", Concurrency: sdk.ConcurrencySerial}
}

func (s *badStrategy) Decide(context.Context, sdk.DecideRequest) (sdk.Decision, error) {
	s.calls++
	switch {
	case s.fault == "decides nothing":
		return sdk.Decision{}, nil
	case s.fault == "asks nothing":
		return sdk.Decision{Action: sdk.DecisionAsk}, nil
	case s.fault == "changes its mind" && s.calls > 1, s.fault == "wrong decision":
		return sdk.Decision{Action: sdk.DecisionStop}, nil
	default:
		return sdk.Decision{Action: sdk.DecisionContinue}, nil
	}
}

func (s *badStrategy) Release(context.Context, string) error {
	if s.fault == "forgets to release" {
		return failure.New(failure.StrategyFailed, "no such session")
	}
	return nil
}

// badAction continues, except for its fault.
type badAction struct{ fault string }

func (badAction) Describe() sdk.Component { return sdk.Component{Name: "bad"} }

func (a badAction) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	if a.fault == "pauses at the end" {
		return sdk.HookAnswer{Action: sdk.ActionPause}, nil
	}
	return sdk.HookAnswer{Facts: json.RawMessage(`[1]`)}, nil
}
