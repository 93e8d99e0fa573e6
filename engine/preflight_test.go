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

// checkAction is the action of checks. It refuses its configuration if refuses is set.
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
	with := func(options ...engine.Option) *engine.Engine { return newEngine(t, root, agent{}, options...) }
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

// confinedProvider is a provider that wants a sandbox, which no in-process provider can have.
type confinedProvider struct {
	agent
	name   string
	traits sdk.ProviderTraits
}

func (i confinedProvider) Describe() sdk.Component {
	c := i.agent.Describe()
	c.Name, c.Provider = i.name, &i.traits
	return c
}

// U266: a sandbox for an in-process provider is refused before anything is written, whether from options, file or the
// provider. The built-in strategies need no sandbox, and a node may disable its sandbox. U321: a provider that is confined
// by default runs without a sandbox if the user says so, and not if the pipeline does.
func TestInProcessProviderSandbox(t *testing.T) {
	for name, tt := range map[string]struct {
		policy, node string
		sandbox      *plan.Sandbox
		refused      string
	}{
		"options":      {"", "provider: agent", &plan.Sandbox{Mode: plan.SandboxWorkspace}, "provider agent is part of this program"},
		"file":         {"policy: {sandbox: strict}", "provider: agent", nil, "provider agent is part of this program"},
		"the provider": {"", "provider: needy", nil, "needy"},
		"without":      {"policy: {sandbox: strict}", "provider: agent, policy: {sandbox: none}", nil, ""},
		"the default":  {"policy: {sandbox: none}", "provider: runner", nil, "provider runner runs what a model asks for, and is confined unless you say otherwise: "},
		"the user":     {"", "provider: runner", &plan.Sandbox{Mode: plan.SandboxNone}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := probeEngine(t, t.TempDir(), agent{}, engine.WithProvider(confinedProvider{name: "needy", traits: sdk.ProviderTraits{RequiresSandbox: true}}),
				engine.WithProvider(confinedProvider{name: "runner", traits: sdk.ProviderTraits{ConfinedByDefault: true}}))
			o := engine.RunOptions{Text: "name: p\n" + tt.policy + "\nnodes: [{id: a, prompt: x, " + tt.node + "}]\n", Session: "s", Sandbox: tt.sandbox}
			err := completed(e.Run(t.Context(), o))
			if tt.refused == "" {
				testkit.OK(t, err)
				return
			}
			if failure.KindOf(err) != failure.SandboxUnavailable || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("error %v", err)
			}
			wantError(t, testkit.Error(e.Status("s")), engine.ErrNoSession)
			if _, err := e.Preflight(t.Context(), o); failure.KindOf(err) != failure.SandboxUnavailable {
				t.Errorf("preflight says %v", err)
			}
		})
	}
}

// Preflight refuses the runs and resumes that Run and Resume would refuse, and writes nothing.
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
	wantError(t, testkit.Error(e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"})), engine.ErrNoSession)
	testkit.Must(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"}))
	wantError(t, testkit.Error(e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})), engine.ErrTerminal)
	if _, err := e.Preflight(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Force: true}); err != nil {
		t.Errorf("a finished session, by force: %v", err)
	}
	wantError(t, testkit.Error(e.PreflightResume(t.Context(), engine.ResumeOptions{Session: "demo"})), engine.ErrTerminal)
}
