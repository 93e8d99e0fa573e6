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
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
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

// U266: a sandbox that is asked for a provider of the program is refused before anything is written, by the options as
// by the file; the kernel's own strategy needs none.
func TestAProviderOfTheProgramCannotBeConfined(t *testing.T) {
	for name, o := range map[string]engine.RunOptions{
		"options": {Text: "name: p\nnodes: [{id: a, prompt: x, provider: agent}]\n", Sandbox: &plan.Sandbox{Mode: plan.SandboxWorkspace}},
		"file":    {Text: "name: p\npolicy: {sandbox: strict}\nnodes: [{id: a, prompt: x, provider: agent}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			e := probed(t, root, agent{})
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

// A node that asks for none runs beside one that would be refused.
func TestNoSandboxForANode(t *testing.T) {
	e := probed(t, t.TempDir(), agent{})
	r, err := e.Run(context.Background(), engine.RunOptions{
		Text:    "name: p\npolicy: {sandbox: strict}\nnodes: [{id: a, prompt: x, provider: agent, policy: {sandbox: none}}]\n",
		Session: "s",
	})
	if err != nil || !r.Success {
		t.Errorf("result %+v, %v", r, err)
	}
}

// needy is a provider that refuses to run unconfined, which one of the program always does.
type needy struct{ agent }

func (i needy) Describe() sdk.Component {
	c := i.agent.Describe()
	c.Name, c.Provider = "needy", &sdk.ProviderTraits{RequiresSandbox: true}
	return c
}

func TestAProviderThatRequiresIsolation(t *testing.T) {
	e := probed(t, t.TempDir(), agent{}, engine.WithProvider(needy{}))
	_, err := e.Run(t.Context(), engine.RunOptions{Text: "name: p\nnodes: [{id: a, prompt: x, provider: needy}]\n", Session: "s"})
	if failure.KindOf(err) != failure.SandboxUnavailable {
		t.Errorf("error %v", err)
	}
}

// What Preflight refuses, Run refuses the same way, and nothing is written for it.
func TestPreflight(t *testing.T) {
	root := project(t, twoStages)
	e := eng(t, root, agent{})
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
	if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}); err != nil {
		t.Fatal(err)
	}
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
