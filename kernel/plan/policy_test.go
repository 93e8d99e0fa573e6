package plan_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

func TestNodeTotal(t *testing.T) {
	p := &plan.Plan{
		Pipeline: plan.Pipeline{Policy: &plan.Policy{Budget: &plan.Budget{Total: []byte("1000"), Shares: map[string]int{"a": 10, "b": 20}}}},
		Nodes:    []plan.Node{{Path: "0", ID: "a"}, {Path: "1", ID: "b", Policy: &plan.Policy{Budget: &plan.Budget{Total: []byte("500")}}}},
	}
	for i, want := range []int{100, 100} {
		n := &p.Nodes[i]
		if got, limited := p.EffectivePolicy(n).Budget.Share(n.ID, 0); got != want || !limited {
			t.Errorf("the share of %s is %d, want %d", n.ID, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for name, tt := range map[string]struct {
		budget  string
		context int64
		limit   int
		limited bool
		needs   bool
	}{
		"a number":               {`{"total": 10000, "shares": {"build": 40}}`, 0, 4000, true, false},
		"rounded down":           {`{"total": 999, "shares": {"build": 15}}`, 0, 149, true, false},
		"the model's":            {`{"total": "model", "shares": {"build": 30}}`, 200_000, 60_000, true, true},
		"without a share":        {`{"total": "model", "shares": {"other": 30}}`, 200_000, 0, false, false},
		"without shares":         {`{"total": 10000}`, 0, 0, false, false},
		"without a total":        {`{"shares": {"build": 40}}`, 0, 0, false, false},
		"without any":            {`null`, 0, 0, false, false},
		"a word without a sense": {`{"total": "all", "shares": {"build": 40}}`, 9, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var b *plan.Budget
			if err := json.Unmarshal([]byte(tt.budget), &b); err != nil {
				t.Fatal(err)
			}
			limit, limited := b.Share("build", tt.context)
			if limit != tt.limit || limited != tt.limited || b.NeedsContext("build") != tt.needs {
				t.Errorf("share %d %t, needs %t", limit, limited, b.NeedsContext("build"))
			}
		})
	}
}

// The patterns of all policies apply to the whole session, wherever they are set.
func TestSecretPatterns(t *testing.T) {
	says := func(patterns ...string) *plan.Policy { return &plan.Policy{Secrets: &plan.Secrets{Patterns: patterns}} }
	inner := &plan.Plan{Pipeline: plan.Pipeline{Policy: says("d")}, Nodes: []plan.Node{{Path: "0", Policy: says("e", "a")}}}
	p := &plan.Plan{Pipeline: plan.Pipeline{Policy: says("b", "a")}, Nodes: []plan.Node{
		{Path: "0", Policy: says("c")}, {Path: "1", Stages: []plan.Node{{Path: "1.0", Policy: says("f")}}}, {Path: "2", Plan: inner}, {Path: "3", Policy: &plan.Policy{}},
	}}
	if got, want := p.SecretPatterns(), []string{"a", "b", "c", "d", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (&plan.Plan{}).SecretPatterns(); got != nil {
		t.Errorf("got %v", got)
	}
}

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
