package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// The node's sandbox overrides the pipeline's, member by member.
func TestSandboxOfANode(t *testing.T) {
	p := &plan.Plan{
		Pipeline: plan.Pipeline{Policy: &plan.Policy{Sandbox: &plan.Sandbox{Mode: plan.SandboxStrict, Network: plan.NetworkOff, Write: []string{"/w"}, CPU: 5}}},
		Nodes: []plan.Node{
			{Path: "0"},
			{Path: "1", Policy: &plan.Policy{Sandbox: &plan.Sandbox{Network: plan.NetworkOn, Write: []string{}, Processes: 3}}},
		},
	}
	for path, want := range map[string]*plan.Sandbox{
		"0": p.Pipeline.Policy.Sandbox,
		"1": {Mode: plan.SandboxStrict, Network: plan.NetworkOn, Write: []string{}, CPU: 5, Processes: 3},
	} {
		if diff := cmp.Diff(want, p.EffectivePolicy(p.Find(path)).Sandbox); diff != "" {
			t.Errorf("node %s (-want +got)\n%s", path, diff)
		}
	}
}

func TestSandboxRequest(t *testing.T) {
	for _, tt := range []struct {
		s    *plan.Sandbox
		asks bool
		mode plan.SandboxMode
	}{
		{nil, false, ""},
		{&plan.Sandbox{}, false, ""},
		{&plan.Sandbox{Mode: plan.SandboxNone, CPU: 1}, false, plan.SandboxNone},
		{&plan.Sandbox{Mode: plan.SandboxStrict}, true, plan.SandboxStrict},
		{&plan.Sandbox{Network: plan.NetworkOn}, true, plan.SandboxWorkspace},
		{&plan.Sandbox{Read: []string{"/r"}}, true, plan.SandboxWorkspace},
		{&plan.Sandbox{Memory: 1}, true, plan.SandboxWorkspace},
	} {
		if tt.s.IsRequested() != tt.asks || tt.s.Complete().Mode != tt.mode {
			t.Errorf("%+v asks %v, mode %q", tt.s, tt.s.IsRequested(), tt.s.Complete().Mode)
		}
	}
}
