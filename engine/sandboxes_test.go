package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

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
