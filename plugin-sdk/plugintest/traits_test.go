package plugintest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// TestSuiteFindsFalseTraits is TestSuiteFindsFaults for providers that differ from their traits.
// The direct connection and the checks of traits are enough.
func TestSuiteFindsFalseTraits(t *testing.T) {
	faults := map[string]string{
		"no usage":        "the normal case reports none",
		"no cost":         "the traits claim cost, but the case shows none",
		"secret usage":    "shows undeclared behaviour: usage",
		"secret calls":    "shows undeclared behaviour: observed_tools",
		"asks no verdict": "the traits claim gated_tools, but the case shows none",
		"nameless calls":  "want a tool, and an id that no other call",
		"no results":      "no result of it is reported",
		"starts over":     "is asked for again although it is finished",
		"any model":       `but validate accepts the model "plugintest-no-such-model"`,
		"no model":        `validate refuses the model "m1", which is declared`,
		"fewer models":    "model_choice is any, but validate refuses",
		"other default":   `default_model "m9" is none of the models`,
		"other effort":    `default_effort "utmost" is none of the efforts`,
	}
	if runtime.GOOS == "linux" {
		faults["leaves a process"] = "leaves processes behind: ["
	}
	for fault, want := range faults {
		t.Run(fault, func(t *testing.T) {
			complains(t, "^TestTraits$/^direct$/^(matches_its_traits|accepts_the_declared|honours_cancel$)", fault, want)
		})
	}
}

// TestTraits runs the suite on an honest provider, or on one with the fault that the environment
// names.
func TestTraits(t *testing.T) {
	plugintest.Provider(t, plugintest.ProviderConfig{
		New:    func(testing.TB) sdk.Provider { return able{fault: os.Getenv(brokenVariable)} },
		Normal: plugintest.Case{Prompt: "hello"},
		Slow:   plugintest.Case{Prompt: "slow"},
		Large:  plugintest.Case{Prompt: "large"},
		Full:   &plugintest.Case{Prompt: "full"},
	})
}

// able has every trait, except for its fault.
type able struct{ fault string }

func (a able) Describe() sdk.Component {
	t := sdk.ProviderTraits{
		Models: []string{"m0", "m1"}, DefaultModel: "m0", ModelChoice: sdk.ModelsConfigurable,
		Efforts: []string{"low", "high"}, DefaultEffort: "high",
		GatedTools: true, ObservedTools: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsSome, Resume: true, SoftCancel: true,
	}
	switch a.fault {
	case "secret usage":
		t.Usage = sdk.ReportsNever
	case "secret calls":
		t.ObservedTools = false
	case "fewer models":
		t.ModelChoice = sdk.ModelsAny
	case "other default":
		t.DefaultModel = "m9"
	case "other effort":
		t.DefaultEffort = "utmost"
	}
	return sdk.Component{Name: "able", Provider: &t}
}

func (a able) Validate(_ context.Context, req sdk.ValidateRequest) error {
	switch {
	case len(req.Config) > 0:
		return failure.New(failure.ConfigInvalid, "no settings are known")
	case req.Model == "" || req.Model == "m0" || req.Model == "m1" && a.fault != "no model" || a.fault == "any model":
		return nil
	default:
		return failure.New(failure.ConfigInvalid, "unknown model %q", req.Model)
	}
}

func (a able) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Prompt == "slow" {
		return sdk.ExecuteResult{}, a.wait(ctx, req)
	}
	tokens, dollars := int64(7), 0.5
	result := sdk.ExecuteResult{Output: req.Prompt, Usage: &sdk.Usage{OutputTokens: &tokens}}
	if a.fault == "no usage" {
		result.Usage = nil
	}
	if req.Prompt != "full" {
		return result, nil
	}
	result.Usage = &sdk.Usage{InputTokens: &tokens, CostUSD: &dollars}
	if a.fault == "no cost" {
		result.Usage.CostUSD = nil
	}
	watched := sdk.ToolCall{CallID: "look", Tool: "look"}
	if a.fault == "nameless calls" {
		watched.CallID = ""
	}
	x.Observe(watched)
	x.ObserveResult(sdk.ToolResult{CallID: watched.CallID, Status: sdk.ToolSuccess})
	return result, a.use(ctx, req, x)
}

// use makes one gated call, saves a checkpoint, and makes another call.
func (a able) use(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) error {
	if a.fault == "asks no verdict" {
		return x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: json.RawMessage(`1`)})
	}
	for i, id := range []string{"first", "second"} {
		if req.Resume != nil && a.fault != "starts over" {
			continue // both are finished
		}
		if _, err := x.Call(ctx, sdk.ToolCall{CallID: id, Tool: "write"}); err != nil {
			return err
		}
		if a.fault != "no results" {
			x.Result(sdk.ToolResult{CallID: id, Status: sdk.ToolSuccess})
		}
		if i == 0 {
			if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: json.RawMessage(`1`)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// idle waits for the end with a child process. A child that is left running ends when the test's
// pipe closes.
func (a able) wait(ctx context.Context, req sdk.ExecuteRequest) error {
	cmd := exec.Command("cat")
	for name, value := range req.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	if a.fault == "leaves a process" {
		return ctx.Err()
	}
	_ = input.Close()
	_ = cmd.Wait()
	return ctx.Err()
}
