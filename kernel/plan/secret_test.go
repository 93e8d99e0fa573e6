package plan_test

import (
	"slices"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// The patterns of all policies hold for the whole session, wherever they stand.
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
