package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

func environmentOf(values map[string]string) console {
	return console{getenv: func(name string) string { return values[name] }}
}

// C4, BASH-BEHAVIOUR 9: flags win over what wrapper scripts hand on; CLAUDE_PIPELINE_* stays apart.
func TestRunOptions(t *testing.T) {
	env := map[string]string{
		"PIPELINE_CLI_PROVIDER": "codex", "PIPELINE_CLI_MODEL": "o3", "PIPELINE_CLI_CONTEXT": "careful", "PIPELINE_CLI_INPUTS": `["a b.md","c.md"]`,
		"CLAUDE_PIPELINE_PROVIDER": "claude", "CLAUDE_PIPELINE_MODEL": "opus", "CLAUDE_PIPELINE_CONTEXT": "fast",
	}
	fromEnv := kernel.RunOptions{EnvProvider: "claude", EnvModel: "opus", EnvContext: "fast"}
	handed, flagged := fromEnv, fromEnv
	handed.Provider, handed.Model, handed.Context, handed.Inputs = "codex", "o3", "careful", []string{"a b.md", "c.md"}
	flagged.Provider, flagged.Model, flagged.Context, flagged.Inputs = "mock", "m", "c", []string{"d.md"}
	flagged.Force, flagged.Commands = true, map[string]string{"test": "make"}
	for _, tt := range []struct {
		name  string
		flags runFlags
		want  kernel.RunOptions
	}{
		{"handed on", runFlags{}, handed},
		{"flags", runFlags{Provider: "mock", Model: "m", Context: "c", Input: []string{"d.md"}, Force: true, Command: map[string]string{"test": "make"}}, flagged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.flags.options(&app{console: environmentOf(env)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListed(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \n": nil, "a.md\nb c.md\n": {"a.md", "b c.md"}, `["a.md"]`: {"a.md"},
	} {
		got, err := listed(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	if _, err := listed(`["a.md"`); exitOf(err) != exitUsage {
		t.Errorf("half an array gives %v", err)
	}
}

// DESIGN 3: in the background unless --foreground or CI=true; this version has no background.
func TestForeground(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags runFlags
		ci    string
		ok    bool
	}{
		{"said", runFlags{Foreground: true}, "", true},
		{"not said", runFlags{}, "", false},
		{"CI", runFlags{}, "true", true},
		{"CI is something else", runFlags{}, "false", false},
		{"CI, but tmux is asked for", runFlags{Tmux: true}, "true", false},
		{"resume", runFlags{Resume: true}, "", true},
		{"resume and recompile", runFlags{Resume: true, Recompile: true}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.flags.check(&app{console: environmentOf(map[string]string{"CI": tt.ci})})
			if (err == nil) != tt.ok || err != nil && exitOf(err) != exitUsage {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestIgnoredOnResume(t *testing.T) {
	f := runFlags{Provider: "x", Input: []string{"a"}, Context: "c"}
	if diff := cmp.Diff("Ignored: --provider, --input; a resumed session keeps its plan.", f.ignoredOnResume()); diff != "" {
		t.Error(diff)
	}
	if got := (&runFlags{Context: "c"}).ignoredOnResume(); got != "" {
		t.Errorf("got %q, but the context is used", got)
	}
}
