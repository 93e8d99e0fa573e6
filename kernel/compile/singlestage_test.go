package compile_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

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
