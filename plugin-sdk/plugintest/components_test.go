package plugintest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// brokenVariable is the environment variable with the kind of faulty component that TestBroken runs in a child process.
const brokenVariable = "PLUGINTEST_BROKEN"

func TestSuiteFails(t *testing.T) {
	for kind, want := range map[string]string{
		"provider": "without any output", "termination": "got stop (), want continue", "hook action": "got abort (), want continue", "leak": "found unexpected goroutines",
	} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$")
			cmd.Env = append(os.Environ(), brokenVariable+"="+kind)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("got %v without %q:\n%s", err, want, out)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	switch kind := os.Getenv(brokenVariable); kind {
	case "provider":
		plugintest.Provider(t, plugintest.ProviderConfig{New: func(testing.TB) sdk.Provider { return broken{} }})
	case "termination":
		plugintest.Termination(t, plugintest.TerminationConfig{
			New:   func(testing.TB) sdk.Termination { return hasty{} },
			Cases: []plugintest.DecideCase{{Want: sdk.DecisionContinue}},
		})
	case "hook action", "leak":
		plugintest.HookAction(t, plugintest.HookActionConfig{
			New:   func(testing.TB) sdk.HookAction { return cautious{leaks: kind == "leak"} },
			Cases: []plugintest.HookCase{{Name: "abort"}},
		})
	}
}

// broken is a provider that reports success without output for every request.
type broken struct{}

func (broken) Describe() sdk.Component { return sdk.Component{Name: "broken"} }

func (broken) Execute(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
	return sdk.ExecuteResult{}, nil
}

type hasty struct{}

func (hasty) Describe() sdk.Component { return sdk.Component{Name: "hasty"} }

func (hasty) Decide(context.Context, sdk.DecideRequest) (sdk.Decision, error) {
	return sdk.Decision{Action: sdk.DecisionStop}, nil
}

type cautious struct{ leaks bool }

func (cautious) Describe() sdk.Component { return sdk.Component{Name: "cautious"} }

func (c cautious) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	if c.leaks {
		go time.Sleep(time.Minute) // the fault
		return sdk.HookAnswer{}, nil
	}
	return sdk.HookAnswer{Action: sdk.ActionAbort}, nil
}
