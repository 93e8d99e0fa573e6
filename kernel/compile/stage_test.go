package compile_test

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
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

// A stage with wraps has no input if it runs alone. A validation accepts it.
func TestWrappingStageAlone(t *testing.T) {
	req := compile.Request{
		Roots:   sources.Roots{Project: t.TempDir(), Library: library(map[string]string{"good": "wraps: {run: cat}\n", "bad": "wraps: {}\n"})},
		Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	_, err := compile.Stage(req, compile.Loop{Stage: "good"})
	var found yamldoc.Diagnostics
	if !errors.As(err, &found) || len(found) != 1 || found[0].String() !=
		`library:stages/good/stage.yaml:1:1: error[AP-YAML-107]: stage "good" wraps a command, and cannot run alone (use it in a pipeline, nodes: [{id: good, stage: good}], and run that)` {
		t.Errorf("%v", err)
	}
	dir := must(req.FindStage("good", ""))
	p, found := compile.CheckStage(req, dir, compile.Loop{Stage: "good"})
	if len(found) > 0 || p == nil || !p.Nodes[0].WrapsCommand() {
		t.Errorf("%+v, %v", p, found)
	}
}

// The plan of a stage that runs alone keeps the alias of its provider, which events of loops had in the Bash
// engine. The plan of a pipeline does not.
func TestProviderByAnotherName(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".claude/stages/tick/stage.yaml"), []byte("name: tick\nprovider: claude-code\n"))
	writeFile(t, filepath.Join(dir, ".claude/stages/tick/prompt.md"), nil)
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte("name: p\nnodes: [{id: a, stage: tick}]\n"))
	req := compile.Request{Roots: sources.Roots{Project: dir}, Session: "s", Catalog: catalog{}, File: "p.yaml"}
	for _, tt := range []struct {
		flag      string
		want      plan.Provider
		eventName string
	}{
		{"", plan.Provider{Type: "claude", Model: "opus", Alias: "claude-code"}, "claude-code"},
		{"openai", plan.Provider{Type: "codex", Model: "gpt-5.2-codex", Alias: "openai"}, "openai"},
		{"codex", plan.Provider{Type: "codex", Model: "gpt-5.2-codex"}, "codex"},
	} {
		req.Overrides.Provider = tt.flag
		loop := must(compile.Stage(req, compile.Loop{Stage: "tick"}))
		got := *loop.Plan.Nodes[0].Provider
		if diff := cmp.Diff(tt.want, got); diff != "" || got.EventName() != tt.eventName {
			t.Errorf("--provider=%q: %s says %s", tt.flag, diff, got.EventName())
		}
	}
	req.Overrides.Provider = ""
	whole := must(compile.Pipeline(req))
	compare(t, plan.Provider{Type: "claude", Model: "opus"}, *whole.Plan.Nodes[0].Provider)
}
