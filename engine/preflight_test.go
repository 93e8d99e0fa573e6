package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkAction is an action for checks that can refuse its configuration.
type checkAction struct{ refuses bool }

func (checkAction) Describe() sdk.Component { return sdk.Component{Name: "check"} }

func (g checkAction) Validate(_ context.Context, req sdk.ValidateRequest) error {
	if g.refuses {
		return failure.New(failure.ConfigInvalid, "no such expectation in %s", req.Config)
	}
	return nil
}

func (checkAction) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{Facts: json.RawMessage(`{"passed":false,"reason":"too hot"}`)}, nil
}

const checkedPipeline = `
name: two
nodes:
  - id: plan
    prompt: plan
    provider: agent
    checks: [{id: tests, type: tests, run: make test}]
`

// The check action is validated before any work; without it a resume is refused.
func TestChecksBeforeWork(t *testing.T) {
	root := project(t, checkedPipeline)
	with := func(options ...engine.Option) *engine.Engine {
		t.Helper()
		e := testkit.Must(engine.NewEngine(append(options, engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"),
			engine.WithExecutable("-"), engine.WithEnvironment(nil), engine.WithProvider(agent{}))...))
		t.Cleanup(func() { _ = e.Close(context.Background()) })
		return e
	}
	demo := engine.RunOptions{Pipeline: "two", Session: "demo"}
	if _, err := with(engine.WithHookAction(checkAction{refuses: true})).Run(t.Context(), demo); failure.KindOf(err) != failure.ConfigInvalid {
		t.Errorf("refused: %v", err)
	}
	if r, err := with(engine.WithHookAction(checkAction{})).Run(t.Context(), demo); err != nil || r.Status != state.Failed || r.Failure.ErrorType != string(failure.CheckFailed) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := with().PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"}); failure.KindOf(err) != failure.ProviderMissing {
		t.Errorf("without the action: %v", err)
	}
	if _, err := with(engine.WithHookAction(checkAction{})).PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"}); err != nil {
		t.Errorf("with it: %v", err)
	}
}

// U266: a sandbox for an in-process provider is refused before anything is written, whether from options or
// file. The built-in strategies need none.
func TestInProcessProviderSandbox(t *testing.T) {
	for name, o := range map[string]engine.RunOptions{
		"options": {Text: "name: p\nnodes: [{id: a, prompt: x, provider: agent}]\n", Sandbox: &plan.Sandbox{Mode: plan.SandboxWorkspace}},
		"file":    {Text: "name: p\npolicy: {sandbox: strict}\nnodes: [{id: a, prompt: x, provider: agent}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			e := probeEngine(t, root, agent{})
			o.Session = "s"
			_, err := e.Run(t.Context(), o)
			if failure.KindOf(err) != failure.SandboxUnavailable || !strings.Contains(err.Error(), "provider agent is part of this program") {
				t.Errorf("error %v", err)
			}
			if _, err := e.Status("s"); err == nil {
				t.Error("there is a session")
			}
			if _, err := e.Preflight(t.Context(), o); failure.KindOf(err) != failure.SandboxUnavailable {
				t.Errorf("preflight says %v", err)
			}
		})
	}
}

// A node without a sandbox runs in a pipeline that requires one.
func TestNoSandboxForANode(t *testing.T) {
	e := probeEngine(t, t.TempDir(), agent{})
	r, err := e.Run(context.Background(), engine.RunOptions{
		Text:    "name: p\npolicy: {sandbox: strict}\nnodes: [{id: a, prompt: x, provider: agent, policy: {sandbox: none}}]\n",
		Session: "s",
	})
	if err != nil || !r.Success {
		t.Errorf("result %+v, %v", r, err)
	}
}

// confinedProvider is a provider that requires a sandbox, which no in-process one can have.
type confinedProvider struct{ agent }

func (i confinedProvider) Describe() sdk.Component {
	c := i.agent.Describe()
	c.Name, c.Provider = "needy", &sdk.ProviderTraits{RequiresSandbox: true}
	return c
}

func TestRequiredSandbox(t *testing.T) {
	e := probeEngine(t, t.TempDir(), agent{}, engine.WithProvider(confinedProvider{}))
	_, err := e.Run(t.Context(), engine.RunOptions{Text: "name: p\nnodes: [{id: a, prompt: x, provider: needy}]\n", Session: "s"})
	if failure.KindOf(err) != failure.SandboxUnavailable {
		t.Errorf("error %v", err)
	}
}

// Run refuses the same as Preflight, and writes nothing.
func TestPreflight(t *testing.T) {
	root := project(t, twoStages)
	e := newEngine(t, root, agent{})
	p, err := e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if err != nil || p.Session != "demo" || p.Dir != filepath.Join(root, ".claude/pipeline-runs/demo") {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := os.Stat(filepath.Join(root, ".claude/pipeline-runs")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
	var missing *engine.NotFoundError
	if _, err := e.Preflight(t.Context(), engine.RunOptions{Pipeline: "three"}); !errors.As(err, &missing) {
		t.Errorf("no such pipeline: %v", err)
	}
	if _, err := e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"}); !errors.Is(err, engine.ErrNoSession) {
		t.Errorf("resume of nothing: %v", err)
	}
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	if _, err := e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); !errors.Is(err, engine.ErrTerminal) {
		t.Errorf("a finished session: %v", err)
	}
	if _, err := e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true}); err != nil {
		t.Errorf("a finished session, by force: %v", err)
	}
	if _, err := e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"}); !errors.Is(err, engine.ErrTerminal) {
		t.Errorf("resume of a finished session: %v", err)
	}
}
