package compile_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// U154: a stage's file may have the whole contract. The keys of the node win, list by list and member by member.
func TestContractOfAStage(t *testing.T) {
	files := library(map[string]string{"s": "requires: {'*': [a], spec: [b.c], elsewhere: [d]}\nskip_when: a == 1\nartifact: {type: t, carry: [a], defaults_from: {x: a}, heal: 3, max_bytes: 2K, from: 'tool:submit'}\n"})
	files["stages/s/prompt.md"] = &fstest.MapFile{}
	dir := t.TempDir()
	writeFile(t, dir+"/p.yaml", []byte(file("nodes:", "- {id: spec, stage: s}",
		"- {id: own, stage: s, requires: {spec: [e], $input: [f]}, skip_when: a == 2, artifact: {carry: [b], heal: 0, max_bytes: 32000000}}")))
	req := compile.Request{
		Roots: sources.Roots{Project: dir, Library: files}, File: "p.yaml", Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	r, err := compile.Pipeline(req)
	if err != nil || len(r.Warnings) > 0 {
		t.Fatal(err, r)
	}
	three, none := 3, 0
	want := []plan.Node{
		{
			Requires: map[string][]string{"*": {"a"}, "spec": {"b.c"}, "elsewhere": {"d"}}, SkipWhen: "a == 1",
			Artifact: &plan.Artifact{Type: "t", From: "tool:submit", Carry: []string{"a"}, DefaultsFrom: map[string]string{"x": "a"}, Heal: &three, MaxBytes: 2048},
		},
		{
			Requires: map[string][]string{"*": {"a"}, "spec": {"e"}, "elsewhere": {"d"}, "$input": {"f"}}, SkipWhen: "a == 2",
			Artifact: &plan.Artifact{Type: "t", From: "tool:submit", Carry: []string{"b"}, DefaultsFrom: map[string]string{"x": "a"}, Heal: &none, MaxBytes: 32_000_000},
		},
	}
	for i, n := range r.Plan.Nodes {
		if diff := cmp.Diff(want[i], plan.Node{Requires: n.Requires, SkipWhen: n.SkipWhen, Artifact: n.Artifact}); diff != "" {
			t.Errorf("node %s (-want +got):\n%s", n.ID, diff)
		}
	}
	alone, err := compile.Stage(req, compile.Loop{Stage: "s"})
	if err != nil || len(alone.Warnings) != 1 || alone.Warnings[0].String() != `library:stages/s/stage.yaml:2:12: warning[AP-YAML-303]: skip_when has no effect on a stage that runs alone: the command names it explicitly (use the stage in a pipeline)` {
		t.Fatal(err, alone)
	}
	if n := alone.Plan.Nodes[0]; n.SkipWhen != "" || len(n.Requires) != 3 || n.Artifact.MaxRetries() != 3 {
		t.Errorf("alone: %+v", n)
	}
}
