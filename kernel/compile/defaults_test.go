package compile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// compileWithDefaults compiles a pipeline, or for "" a loop of stage s. The settings have provider codex, a delay
// of 7 and two commands.
func compileWithDefaults(t *testing.T, pipeline, stage string, change func(*compile.Request)) (*compile.Result, error) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, ".claude/stages/s/stage.yaml"), []byte("name: s\n"+stage))
	writeFile(t, filepath.Join(dir, ".claude/stages/s/prompt.md"), []byte("go"))
	writeFile(t, filepath.Join(dir, "inner.yaml"), []byte("{name: inner, nodes: [{id: i, prompt: go}]}"))
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte(pipeline))
	delay := 7.0
	req := compile.Request{
		Roots: sources.Roots{Project: dir}, File: "p.yaml", Session: "s", Catalog: catalog{}, DefaultProvider: "claude",
		Defaults: compile.Defaults{
			Provider: "openai", File: "config.yaml", At: yamldoc.Pos{Line: 2, Column: 3}, Delay: &delay,
			Commands: map[string]string{"test": "settings", "lint": "settings"},
		},
	}
	if change != nil {
		change(&req)
	}
	if pipeline == "" {
		return compile.Stage(req, compile.Loop{Stage: "s"})
	}
	return compile.Pipeline(req)
}

// U005, U012, REQUIREMENTS C4: configuration files set only values that stage and pipeline leave open.
func TestDefaultsOfSettings(t *testing.T) {
	type result struct {
		Provider, Model string
		Delay           float64
		Test, Lint      string
	}
	for _, tt := range []struct {
		name, pipeline, stage string
		change                func(*compile.Request)
		want                  result
	}{
		{"nothing else is set", "{name: p, nodes: [{id: a, prompt: go}]}", "", nil, result{"codex", "gpt-5.2-codex", 7, "settings", "settings"}},
		{"of a loop", "", "", nil, result{"codex", "gpt-5.2-codex", 7, "settings", "settings"}},
		{"in an embedded pipeline", "{name: p, nodes: [{id: a, pipeline: inner.yaml}]}", "", nil, result{"codex", "gpt-5.2-codex", 7, "settings", "settings"}},
		{"the pipeline", "{name: p, defaults: {provider: claude}, commands: {test: pipeline}, nodes: [{id: a, prompt: go}]}", "", nil, result{"claude", "opus", 7, "pipeline", "settings"}},
		{"the pipeline's model alone", "{name: p, defaults: {model: m}, nodes: [{id: a, prompt: go}]}", "", nil, result{"codex", "m", 7, "settings", "settings"}},
		{"the stage", "{name: p, nodes: [{id: a, stage: s}]}", "provider: mock\ndelay: 1\ncommands: {test: stage}\n", nil, result{"mock", "", 1, "stage", "settings"}},
		{"the stage of a loop", "", "provider: mock\ndelay: 1\ncommands: {test: stage}\n", nil, result{"mock", "", 1, "stage", "settings"}},
		{"the node", "{name: p, nodes: [{id: a, stage: s, provider: claude, delay: 0}]}", "provider: mock\ndelay: 1\n", nil, result{"claude", "opus", 0, "settings", "settings"}},
		{"the environment", "{name: p, nodes: [{id: a, prompt: go}]}", "", func(r *compile.Request) { r.Env.Provider = "mock" }, result{"mock", "", 7, "settings", "settings"}},
		{"the command line", "{name: p, nodes: [{id: a, prompt: go}]}", "", func(r *compile.Request) {
			r.Env.Provider, r.Overrides.Provider, r.Overrides.Commands = "mock", "claude", map[string]string{"lint": "flag"}
		}, result{"claude", "opus", 7, "settings", "flag"}},
		{"the settings say nothing", "{name: p, nodes: [{id: a, prompt: go, delay: 2}]}", "", func(r *compile.Request) { r.Defaults = compile.Defaults{} }, result{"claude", "opus", 2, "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := must(compileWithDefaults(t, tt.pipeline, tt.stage, tt.change))
			n := &r.Plan.Nodes[0]
			if n.Plan != nil {
				n = r.Plan.Find("0.0")
			}
			commands := r.Plan.EffectiveCommands(n)
			got := result{n.Provider.Type, n.Provider.Model, -1, commands["test"], commands["lint"]}
			if n.Delay != nil {
				got.Delay = *n.Delay
			}
			compare(t, tt.want, got)
		})
	}
}

// A stage of a block gets the default delay but not the default provider: the block names its providers.
func TestDefaultsOfSettingsInBlocks(t *testing.T) {
	r := must(compileWithDefaults(t, "{name: p, nodes: [{id: b, parallel: {providers: [mock], stages: [{id: a, prompt: go}, {id: c, prompt: go, delay: 1}]}}]}", "", nil))
	stages := r.Plan.Nodes[0].Stages
	if len(stages) != 2 || *stages[0].Delay != 7 || *stages[1].Delay != 1 || stages[0].Provider != nil {
		t.Errorf("stages %+v", stages)
	}
}

// U301: an unknown provider of a configuration file is reported at its position, once, and only if it is used.
func TestUnknownProviderOfSettings(t *testing.T) {
	misspell := func(r *compile.Request) { r.Defaults.Provider = "cluade" }
	_, err := compileWithDefaults(t, "{name: p, nodes: [{id: a, prompt: go}, {id: b, prompt: go}]}", "", misspell)
	if err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.HasPrefix(err.Error(), `config.yaml:2:3: error[AP-YAML-203]: unknown provider: cluade`) {
		t.Errorf("error %v", err)
	}
	if _, err := compileWithDefaults(t, "{name: p, nodes: [{id: a, prompt: go, provider: mock}]}", "", misspell); err != nil {
		t.Errorf("without a need: %v", err)
	}
}
