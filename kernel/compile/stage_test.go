package compile_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// U154: a stage's file may have the whole contract. The keys of the node win, list by list and member by member.
func TestContractOfAStage(t *testing.T) {
	files := library(map[string]string{"s": "requires: {'*': [a], spec: [b.c], elsewhere: [d]}\nskip_when: a == 1\nartifact: {type: t, carry: [a], defaults_from: {x: a}, heal: 3, max_bytes: 2K, from: 'tool:submit'}\n"})
	files["stages/s/prompt.md"] = &fstest.MapFile{}
	req := diagnosticRequest(t, files)
	req.Text = []byte(file("nodes:", "- {id: spec, stage: s}",
		"- {id: own, stage: s, requires: {spec: [e], $input: [f]}, skip_when: a == 2, artifact: {carry: [b], heal: 0, max_bytes: 32000000}}"))
	r, err := compile.Pipeline(req)
	require(t, err == nil && len(r.Warnings) == 0, err, r)
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
		compare(t, want[i], plan.Node{Requires: n.Requires, SkipWhen: n.SkipWhen, Artifact: n.Artifact})
	}
	alone, err := compile.Stage(req, compile.Loop{Stage: "s"})
	require(t, err == nil && alone.Warnings.Error() == `library:stages/s/stage.yaml:2:12: warning[AP-YAML-303]: skip_when has no effect on a stage that runs alone: the command names it explicitly (use the stage in a pipeline)`, err, alone)
	n := alone.Plan.Nodes[0]
	require(t, n.SkipWhen == "" && len(n.Requires) == 3 && n.Artifact.MaxRetries() == 3, n)
}

// A stage with wraps has no input if it runs alone. A validation accepts it.
func TestWrappingStageAlone(t *testing.T) {
	req := diagnosticRequest(t, library(map[string]string{"good": "wraps: {run: cat}\n", "bad": "wraps: {}\n"}))
	_, err := compile.Stage(req, compile.Loop{Stage: "good"})
	require(t, err != nil)
	compare(t, `library:stages/good/stage.yaml:1:1: error[AP-YAML-107]: stage "good" wraps a command, and cannot run alone (use it in a pipeline, nodes: [{id: good, stage: good}], and run that)`, err.Error())
	dir := must(req.FindStage("good", ""))
	p, found := compile.CheckStage(req, dir, compile.Loop{Stage: "good"})
	require(t, len(found) == 0 && p != nil && p.Nodes[0].WrapsCommand(), p, found)
}

// The plan of a stage that runs alone keeps the alias of its provider, which events of loops had in the Bash
// engine. The plan of a pipeline does not.
func TestProviderByAnotherName(t *testing.T) {
	req := diagnosticRequest(t, library(map[string]string{"tick": "name: tick\nprovider: claude-code\n"}))
	req.Text = []byte("name: p\nnodes: [{id: a, stage: tick}]\n")
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
		compare(t, tt.want, got)
		require(t, got.EventName() == tt.eventName, got.EventName())
	}
	req.Overrides.Provider = ""
	whole := must(compile.Pipeline(req))
	compare(t, plan.Provider{Type: "claude", Model: "opus"}, *whole.Plan.Nodes[0].Provider)
}

// compileWithDefaults compiles a pipeline, or for "" a loop of stage s. The default settings are provider openai (an
// alias of codex), a delay of 7 and two commands.
func compileWithDefaults(t *testing.T, pipeline, stage string, change func(*compile.Request)) (*compile.Result, error) {
	t.Helper()
	req := diagnosticRequest(t, nil)
	writeFile(t, filepath.Join(req.Project, ".claude/stages/s/stage.yaml"), []byte("name: s\n"+stage))
	writeFile(t, filepath.Join(req.Project, ".claude/stages/s/prompt.md"), []byte("go"))
	writeFile(t, filepath.Join(req.Project, "inner.yaml"), []byte("{name: inner, nodes: [{id: i, prompt: go}]}"))
	delay := 7.0
	req.Text = []byte(pipeline)
	req.Defaults = compile.Defaults{
		Provider: "openai", File: "config.yaml", At: yamldoc.Pos{Line: 2, Column: 3}, Delay: &delay,
		Commands: map[string]string{"test": "settings", "lint": "settings"},
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
	require(t, len(stages) == 2 && *stages[0].Delay == 7 && *stages[1].Delay == 1 && stages[0].Provider == nil, stages)
}

// U301: an unknown provider of a configuration file is reported at its position, once, and only if it is used.
func TestUnknownProviderOfSettings(t *testing.T) {
	misspell := func(r *compile.Request) { r.Defaults.Provider = "cluade" }
	_, err := compileWithDefaults(t, "{name: p, nodes: [{id: a, prompt: go}, {id: b, prompt: go}]}", "", misspell)
	require(t, err != nil && strings.Count(err.Error(), "\n") == 0 && strings.HasPrefix(err.Error(), `config.yaml:2:3: error[AP-YAML-203]: unknown provider: cluade`), err)
	if _, err := compileWithDefaults(t, "{name: p, nodes: [{id: a, prompt: go, provider: mock}]}", "", misspell); err != nil {
		t.Errorf("without a need: %v", err)
	}
}

// file returns a pipeline with the lines after its name.
func file(lines ...string) string { return "name: p\n" + strings.Join(lines, "\n") + "\n" }

// A stage that runs alone has no checks: it cannot end by them, and none can fill its kernel fields.
func TestContractOfAStageAlone(t *testing.T) {
	files := library(map[string]string{
		"s":  "role: planner\nartifact: {type: t, version: 2, kernel_fields: {n: checks.tests.counts}}\n",
		"by": "termination: {type: checks, max: 2}\n", "bad": "role: a/b\n",
	})
	for _, name := range []string{"s", "by", "bad"} {
		files["stages/"+name+"/prompt.md"] = &fstest.MapFile{}
	}
	req := diagnosticRequest(t, files)
	r := must(compile.Stage(req, compile.Loop{Stage: "s"}))
	n := r.Plan.Nodes[0]
	compare(t, &plan.Artifact{Type: "t", Version: "2"}, n.Artifact)
	require(t, n.Role == "planner" && len(r.Warnings) == 1, n.Role, r.Warnings)
	for name, want := range map[string]string{
		"by":  "a stage that runs alone has no checks and cannot end by them",
		"bad": `role "a/b" contains a slash`,
	} {
		_, err := compile.Stage(req, compile.Loop{Stage: name})
		require(t, err != nil && strings.Contains(err.Error(), want), name, err)
	}
	dir := must(req.FindStage("by", ""))
	_, found := compile.CheckStage(req, dir, compile.Loop{Stage: "by"})
	require(t, !found.HasErrors(), found)
}

// U018, U251, B6: the flags and the keys of the file make the same hooks, at most one for each node.
func TestQuestionsOfTheCommandLine(t *testing.T) {
	const nodes = "nodes:\n- {id: a, prompt: x}\n- {id: b, prompt: x, require_human_approval: true}\n- {id: c, prompt: x}\n- {id: d, prompt: x}"
	for name, tt := range map[string]struct {
		yaml string
		over plan.Overrides
		want []string
	}{
		"nothing":              {file(nodes), plan.Overrides{}, []string{"b p.yaml:4:46"}},
		"supervised":           {file(nodes), plan.Overrides{PathOverrides: plan.PathOverrides{Supervised: true}}, []string{"a --supervised", "b p.yaml:4:46", "c --supervised"}},
		"as the file says":     {file("supervised: true", nodes), plan.Overrides{PathOverrides: plan.PathOverrides{Supervised: true}}, []string{"a p.yaml:2:13", "b p.yaml:5:46", "c p.yaml:2:13"}},
		"iterate":              {file(nodes), plan.Overrides{PathOverrides: plan.PathOverrides{Iterate: []string{"b", "d"}}}, []string{"b p.yaml:4:46", "d --iterate"}},
		"both":                 {file(nodes), plan.Overrides{PathOverrides: plan.PathOverrides{Supervised: true, Iterate: []string{"a", "d"}}}, []string{"a --iterate", "b p.yaml:4:46", "c --supervised", "d --iterate"}},
		"the last is the exit": {file("exit_after: c", nodes), plan.Overrides{PathOverrides: plan.PathOverrides{Supervised: true}}, []string{"a --supervised", "b p.yaml:5:46", "d --supervised"}},
		"the command line's":   {file("exit_after: c", "supervised: true", nodes), plan.Overrides{PathOverrides: plan.PathOverrides{ExitAfter: "a"}}, []string{"b p.yaml:6:46", "c p.yaml:3:13", "d p.yaml:3:13"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := diagnosticRequest(t, library(nil))
			req.Text, req.Overrides = []byte(tt.yaml), tt.over
			var got []string
			for _, h := range must(compile.Pipeline(req)).Plan.Pipeline.Hooks {
				require(t, h.Supervise && h.AcceptFeedback && h.Action == plan.ActionConfirm && h.Point == plan.PointStageEnd, h)
				got = append(got, h.Stage+" "+h.Source)
			}
			compare(t, tt.want, got)
		})
	}
}
