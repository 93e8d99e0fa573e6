package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// gauge is an action that makes checks, unless it is told to refuse them.
type gauge struct{ refuses bool }

func (gauge) Describe() sdk.Component { return sdk.Component{Name: "check"} }

func (g gauge) Validate(_ context.Context, req sdk.ValidateRequest) error {
	if g.refuses {
		return failure.New(failure.ConfigInvalid, "no such expectation in %s", req.Config)
	}
	return nil
}

func (gauge) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Facts: json.RawMessage(`{"passed":false,"reason":"too hot"}`)}, nil
}

const measured = `
name: two
nodes:
  - id: plan
    prompt: plan
    provider: agent
    checks: [{id: tests, type: tests, run: make test}]
`

// What makes the checks is asked before any work whether it would; a run that goes on without it does not begin.
func TestChecksBeforeWork(t *testing.T) {
	root := project(t, measured)
	with := func(options ...engine.Option) *engine.Engine {
		t.Helper()
		e, err := engine.NewEngine(append(options, engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"),
			engine.WithExecutable("-"), engine.WithEnvironment(nil), engine.WithProvider(agent{}))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close(context.Background()) })
		return e
	}
	demo := engine.RunOptions{Pipeline: "two", Session: "demo"}
	if _, err := with(engine.WithHookAction(gauge{refuses: true})).Run(t.Context(), demo); failure.KindOf(err) != failure.ConfigInvalid {
		t.Errorf("refused: %v", err)
	}
	if r, err := with(engine.WithHookAction(gauge{})).Run(t.Context(), demo); err != nil || r.Status != state.Failed || r.Failure.ErrorType != string(failure.CheckFailed) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := with().PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"}); failure.KindOf(err) != failure.ProviderMissing {
		t.Errorf("without the action: %v", err)
	}
	if _, err := with(engine.WithHookAction(gauge{})).PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil {
		t.Errorf("with it: %v", err)
	}
}
