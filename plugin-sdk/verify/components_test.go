package verify

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"
)

// Each component in this process fails the row that its fault concerns. Components without a fault fail no row.
func TestComponents(t *testing.T) {
	tests := []struct{ fault, row, seen string }{
		{"", "", ""},
		{"mute", "success", "without any output"},
		{"dishonest", "cancel", "claims success"},
		{"accepts garbage", "config", "accepts"},
		{"wrong kind", "config", `as "hook_failed"`},
		{"truncates", "large-output", "bytes came back"},
		{"no usage", "usage", "usage: always, but the attempt reports none"},
		{"no cost", "traits", "it declares cost and shows none"},
		{"secret usage", "usage", "usage: never, but the attempt reports it"},
		{"secret calls", "traits", "undeclared behaviour: observed_tools"},
		{"asks no verdict", "traits", "it declares gated_tools and shows none"},
		{"nameless calls", "traits", "an empty or duplicate id"},
		{"no results", "traits", "no result of it is reported"},
		{"starts over", "resume", "is asked for again although it is finished"},
		{"any model", "models", "accepts verify-no-such-model"},
		{"no model", "models", "refuses m1"},
		{"fewer models", "models", "refuses verify-no-such-model"},
		{"other default", "models", `default_model "m9" is none`},
		{"other effort", "models", `default_effort "utmost" is none`},
		{"wrong decision", "decides", "got stop (), want continue"},
		{"pauses at the end", "answers", "pause at session_end"},
	}
	if subprocess.SeesProcesses {
		tests = append(tests, struct{ fault, row, seen string }{"leaves a process", "cancel", "leaves processes behind"})
	}
	reports := make([]Report, len(tests))
	faults := make([]error, len(tests))
	sideBySide(len(tests), func(i int) {
		tt := tests[i]
		attempts := ProviderCases{Normal: &Attempt{Prompt: "hello"}, Slow: &Attempt{Prompt: "slow"}, Full: &Attempt{Prompt: "full"}, Free: true}
		if tt.fault == "" || tt.row == "large-output" { // megabytes are slow under the race detector
			attempts.Large = &Attempt{Prompt: strings.Repeat("x", 5<<20)}
		}
		reports[i], faults[i] = Components(t.Context(), func() sdk.Plugin {
			return sdk.Plugin{
				Name: "able", Version: "1.0.0", Providers: []sdk.Provider{able{tt.fault}},
				Terminations: []sdk.Termination{strategy{tt.fault}}, HookActions: []sdk.HookAction{action{tt.fault}},
			}
		}, Cases{
			Providers:    map[string]ProviderCases{"able": attempts},
			Terminations: map[string]DecideCases{"strategy": {Decisions: []DecideCase{{Want: sdk.DecisionContinue}}}},
			HookActions: map[string]HookCases{"action": {
				Firings: []HookCase{{Request: sdk.HookRequest{Point: sdk.SessionEnd}, Want: sdk.ActionContinue}},
			}},
		})
	})
	for i, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			if faults[i] != nil {
				t.Fatal(faults[i])
			}
			var seen string
			for _, row := range reports[i].Rows {
				switch {
				case row.Result != Fail:
				case row.ID == tt.row:
					seen = row.Seen
				case tt.row == "":
					t.Errorf("%s fails: %s", row.ID, row.Seen)
				}
			}
			if !strings.Contains(seen, tt.seen) {
				t.Errorf("the row %s saw %q, want %q", tt.row, seen, tt.seen)
			}
		})
	}
}

// A description that breaks the rules is an error.
func TestComponentsDescription(t *testing.T) {
	build := func() sdk.Plugin {
		return sdk.Plugin{Name: "bad", Version: "1.0.0", HookActions: []sdk.HookAction{action{"bad name"}}}
	}
	if _, err := Components(t.Context(), build, Cases{}); err == nil || !strings.Contains(err.Error(), "want lower case letters") {
		t.Errorf("got %v", err)
	}
}

// able is a provider with every trait and at most one fault.
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
	return sdk.Component{Name: "able", Provider: &t, ConfigSchema: json.RawMessage(`{"type":"object"}`)}
}

func (a able) Validate(_ context.Context, req sdk.ValidateRequest) error {
	switch {
	case a.fault == "accepts garbage":
		return nil
	case len(req.Config) > 0 && a.fault == "wrong kind":
		return failure.New(failure.HookFailed, "no")
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
		return a.wait(ctx, req)
	}
	tokens, dollars := int64(7), 0.5
	result := sdk.ExecuteResult{Output: req.Prompt, Usage: &sdk.Usage{OutputTokens: &tokens}}
	switch a.fault {
	case "mute":
		result.Output = ""
	case "truncates":
		result.Output = req.Prompt[:min(len(req.Prompt), 1<<20)]
	case "no usage":
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
			continue // both calls are finished
		}
		verdict, err := x.Call(ctx, sdk.ToolCall{CallID: id, Tool: "write"})
		if err != nil {
			return err
		}
		status := sdk.ToolSuccess
		if verdict.Action == sdk.VerdictDeny {
			status = sdk.ToolDenied
		}
		if a.fault != "no results" {
			x.Result(sdk.ToolResult{CallID: id, Status: status})
		}
		if i == 0 {
			if err := x.Checkpoint(ctx, sdk.Checkpoint{Turn: 1, Blob: json.RawMessage(`1`)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// wait waits for the end of ctx with a child process, which lives for 20 seconds if it is not
// killed.
func (a able) wait(ctx context.Context, req sdk.ExecuteRequest) (sdk.ExecuteResult, error) {
	cmd := exec.Command("sleep", "20")
	for name, value := range req.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		return sdk.ExecuteResult{}, err
	}
	<-ctx.Done()
	if a.fault != "leaves a process" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if a.fault == "dishonest" {
		return sdk.ExecuteResult{Output: "done"}, nil
	}
	return sdk.ExecuteResult{}, ctx.Err()
}

// strategy is a termination strategy that always continues, unless its fault is a wrong decision.
type strategy struct{ fault string }

func (strategy) Describe() sdk.Component { return sdk.Component{Name: "strategy"} }

func (s strategy) Decide(context.Context, sdk.DecideRequest) (sdk.Decision, error) {
	if s.fault == "wrong decision" {
		return sdk.Decision{Action: sdk.DecisionStop}, nil
	}
	return sdk.Decision{Action: sdk.DecisionContinue}, nil
}

// action is a hook action that continues, unless its fault is a pause.
type action struct{ fault string }

func (a action) Describe() sdk.Component {
	if a.fault == "bad name" {
		return sdk.Component{Name: "Bad Name"}
	}
	return sdk.Component{Name: "action"}
}

func (a action) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	if a.fault == "pauses at the end" {
		return sdk.HookAnswer{Action: sdk.ActionPause}, nil
	}
	return sdk.HookAnswer{}, nil
}
