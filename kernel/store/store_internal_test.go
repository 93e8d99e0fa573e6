package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Errors of the disk get a fitting hint; other errors stay unchanged.
func TestExplainAddsHint(t *testing.T) {
	p := must(OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	tests := map[string]struct {
		err  error
		hint string
	}{
		"no space left":  {syscall.ENOSPC, "free some space, then continue"},
		"quota used up":  {syscall.EDQUOT, "free some space within your quota, then continue"},
		"read-only":      {syscall.EROFS, "make the project's .claude folder writable: sessions are stored there"},
		"not permitted":  {syscall.EACCES, "make the project's .claude folder writable: sessions are stored there"},
		"a bad disk":     {syscall.EIO, "the disk fails: check the system's log, then continue"},
		"descriptors":    {syscall.EMFILE, "raise the limit of open files (ulimit -n), then continue"},
		"something else": {syscall.ENOTDIR, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := p.wrapError("write x", &fs.PathError{Op: "write", Path: "x", Err: tt.err})
			if !errors.Is(got, tt.err) || failure.From(got).Hint != tt.hint {
				t.Errorf("explained as %v with hint %q, want hint %q", got, failure.From(got).Hint, tt.hint)
			}
			if _, system := failure.SystemHint(tt.err); system && failure.KindOf(got) != failure.StateCorrupt {
				t.Errorf("kind %s", failure.KindOf(got))
			}
			if want := "write x: write " + p.Abs("x") + ": " + tt.err.Error(); got.Error() != want {
				t.Errorf("message %q, want %q", got, want)
			}
		})
	}
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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
