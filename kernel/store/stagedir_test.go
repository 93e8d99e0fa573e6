package store

import (
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

func TestStageDir(t *testing.T) {
	p := must(OpenProject(t.TempDir()))
	defer p.Close()
	for _, tt := range []struct {
		name string
		node plan.Node
		want string
	}{
		{"an inline prompt", plan.Node{Prompt: "do it"}, ""},
		{"a stage of the project", plan.Node{Ref: "build", PromptPath: ".claude/stages/build/prompt.md"}, p.Abs(".claude/stages/build")},
		{"a prompt further in", plan.Node{Ref: "build", PromptPath: ".claude/stages/build/prompts/a/b.md"}, p.Abs(".claude/stages/build")},
		{"a prompt elsewhere", plan.Node{Ref: "build", PromptPath: "prompts/b.md"}, ""},
		{"a shipped stage", plan.Node{Ref: "spec", PromptPath: ".claude/pipeline-runs/s/library/stages/spec/prompt.md"}, p.Abs(".claude/pipeline-runs/s/library/stages/spec")},
		{"of the engine", plan.Node{Ref: "tick", PromptPath: "/opt/engine/stages/tick/prompt.md"}, filepath.FromSlash("/opt/engine/stages/tick")},
		{"one that wraps", plan.Node{Ref: "intake", Wraps: &plan.Wraps{Dir: ".claude/stages/intake"}}, p.Abs(".claude/stages/intake")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.StageDir(&tt.node); got != tt.want {
				t.Errorf("StageDir = %q, want %q", got, tt.want)
			}
		})
	}
}
