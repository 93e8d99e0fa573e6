package compile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// library returns one good stage and the stages of a test.
func library(stages map[string]string) fstest.MapFS {
	files := fstest.MapFS{
		"stages/tick/stage.yaml": {Data: []byte("name: tick\n")},
		"stages/tick/prompt.md":  {Data: []byte("go\n")},
	}
	for name, text := range stages {
		files["stages/"+name+"/stage.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// diagnosticRequest returns a request to compile p.yaml of an empty project.
func diagnosticRequest(t *testing.T, library fstest.MapFS) compile.Request {
	t.Helper()
	return compile.Request{
		Roots: sources.Roots{Project: t.TempDir(), Library: library}, File: "p.yaml", Session: "s",
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{}, OverrideLabel: asFlag,
	}
}

func asFlag(override string) string { return "--" + strings.ReplaceAll(override, "_", "-") }

// diagnose compiles text as p.yaml and returns the rendered faults or warnings.
func diagnose(t *testing.T, text string) []string {
	t.Helper()
	req := diagnosticRequest(t, library(nil))
	req.Text = []byte(text)
	return compileDiagnostics(t, req)
}

func compileDiagnostics(t *testing.T, req compile.Request) []string {
	t.Helper()
	result, err := compile.Pipeline(req)
	var found yamldoc.Diagnostics
	switch {
	case err == nil:
		found = result.Warnings
	case !errors.As(err, &found):
		t.Fatalf("the error is %T, want Diagnostics: %v", err, err)
	}
	lines := []string{}
	for _, d := range found {
		lines = append(lines, d.String())
	}
	return lines
}

// TestDiagnostics compiles the cases of testdata/diagnostics. A part <case>/<file> is a file of the project, of the
// library (stages/), or settings, with lines as in [parseGolden]; a part without a case belongs to all of them.
// <case>/want holds the faults or warnings, one per line.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/diagnostics/*.txtar")
	require(t, err == nil && len(files) != 0, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := must(txtar.ParseFile(file))
			for i, part := range archive.Files {
				name, isWant := strings.CutSuffix(part.Name, "/want")
				if !isWant {
					continue
				}
				t.Run(name, func(t *testing.T) {
					got := strings.Join(append(compileDiagnostics(t, diagnosticCase(t, archive, name)), ""), "\n")
					if *update {
						archive.Files[i].Data = []byte(got)
					} else if diff := cmp.Diff(string(part.Data), got); diff != "" {
						t.Errorf("run with -update and review the change if it is meant (-want +got):\n%s", diff)
					}
				})
			}
			if *update {
				check(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
		})
	}
}

// diagnosticCase writes the files of a case and returns its request.
func diagnosticCase(t *testing.T, archive *txtar.Archive, name string) compile.Request {
	t.Helper()
	files := library(nil)
	req := diagnosticRequest(t, files)
	for _, part := range archive.Files {
		file, own := strings.CutPrefix(part.Name, name+"/")
		switch {
		case !own && part.Name != "p.yaml" && part.Name != "sub.yaml" && !strings.HasPrefix(part.Name, "stages/"):
		case strings.HasPrefix(file, "stages/"):
			files[file] = &fstest.MapFile{Data: part.Data}
		case file == "settings":
			for line := range strings.Lines(string(part.Data)) {
				key, text, _ := strings.Cut(strings.TrimSpace(line), "=")
				setGolden(t, &req, key, text)
			}
		case file != "want":
			writeFile(t, filepath.Join(req.Project, file), part.Data)
		}
	}
	return req
}

// These texts are hard to write in an archive: invalid UTF-8, a huge file, deep nesting, too many hooks.
func TestDiagnosticsOfUnusualTexts(t *testing.T) {
	deep := strings.Repeat("[", yamldoc.MaxDepth+1) + strings.Repeat("]", yamldoc.MaxDepth+1)
	hooks := "name: a\nnodes: [{id: a, prompt: x}]\nhooks:\n  stage_end: [" + strings.Repeat("{action: pause}, ", plan.MaxHooks) + "]\n"
	for yaml, want := range map[string]string{
		"name: caf\xe9\n":                                           `p.yaml:1:10: error[AP-YAML-002]: byte 0xe9 is not UTF-8 (save the file as UTF-8)`,
		strings.Repeat("#", yamldoc.MaxBytes+1):                     `p.yaml:1:1: error[AP-YAML-006]: the file has 1048577 bytes, more than the 1048576 allowed (split the file or move long prompts into files)`,
		"name: a\nx-a: " + deep + "\nnodes: [{id: a, prompt: x}]\n": `p.yaml:2:106: error[AP-YAML-006]: the document is nested more than 100 levels deep`,
		hooks: "",
		hooks + "  stage_start: [{action: pause}]\n": `p.yaml:4:3: error[AP-YAML-006]: the pipeline has 1000 hooks, more than the 999 allowed (let one hook do more)`,
	} {
		compare(t, want, strings.Join(diagnose(t, yaml), "\n"))
	}
}

// An alias bomb of 10^9 values is refused at once.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: bomb\nnodes: [{id: a, prompt: x}]\nx-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		last := "*a" + string(rune('0'+i-1))
		b.WriteString("x-" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(last+", ", 9) + last + "]\n")
	}
	got := diagnose(t, b.String())
	require(t, len(got) == 1 && strings.Contains(got[0], "error[AP-YAML-006]: the document has more than 100000 values once its aliases are expanded"), got)
}

func TestUnreadableFile(t *testing.T) {
	req := diagnosticRequest(t, nil)
	compare(t, []string{"p.yaml:1:1: error[AP-YAML-008]: the file cannot be read: no such file or directory"}, compileDiagnostics(t, req))
	check(t, os.Mkdir(filepath.Join(req.Project, "p.yaml"), 0o750))
	got := compileDiagnostics(t, req)
	require(t, len(got) == 1 && strings.Contains(got[0], "is a directory"), got)
}

// A fault in the number of a loop's iterations, which comes from the command line, has no line.
func TestLoopOfNegativeLength(t *testing.T) {
	_, err := compile.Stage(diagnosticRequest(t, library(nil)), compile.Loop{Stage: "tick", Max: -1})
	require(t, err != nil && strings.Contains(err.Error(), "max: error[AP-YAML-103]: the number of iterations must be at least 1, not -1"), err)
}

// sampleKeys are the keys of nodes and stages, each with a value that has an effect where the key is read.
var sampleKeys = map[string]string{
	"id": "m", "name": "m", "stage": "tick", "loop": "tick", "prompt": "say", "pipeline": "sub.yaml", "parallel": "{providers: [codex], stages: [{id: c, prompt: y}]}",
	"runs": "2", "termination": "{type: judgment, max: 3}", "completion": "plateau", "consensus": "3", "min_iterations": "3", "inputs": "{from: early}",
	"provider": "codex", "model": "m", "context": "c", "description": "d", "delay": "9", "output_path": "o", "guardrails": "{max_runtime_seconds: 9}",
	"policy": "{required: true}", "tmux": "false", "require_human_approval": "true", "artifact": "{type: t}", "checks": "[{id: k, type: command, run: x}]",
	"transitions": "{success: done}", "requires": "{early: [a]}", "skip_when": "a == 1", "steps": "{from: early, path: x}", "wraps": "{run: cat}",
	"commands": "{t: x}", "check_before": "true", "role": "planner", "output_parse": "x", "items": "[x]",
}

// U301: a key of a node, or of a stage that runs alone, changes the plan, or a diagnostic names it.
func TestNoKeyIsLost(t *testing.T) {
	outcome := func(text, key string, alone bool) (*plan.Plan, string) {
		text, stage := strings.ReplaceAll(text, "KEY", key), "role: r"
		if alone {
			stage = text
		}
		req := diagnosticRequest(t, library(map[string]string{"tick": stage}))
		writeFile(t, filepath.Join(req.Project, "sub.yaml"), []byte("{name: sub, nodes: [{id: s, prompt: y}]}"))
		req.Text = []byte("name: p\nnodes:\n- {id: early, prompt: x, artifact: {type: e}}\n- " + text + "\n")
		r, err := compile.Pipeline(req)
		if alone {
			r, err = compile.Stage(req, compile.Loop{Stage: "tick"})
		}
		if err != nil {
			return nil, err.Error()
		}
		return r.Plan, r.Warnings.Error()
	}
	for kind, text := range map[string]string{
		"stage":            "{id: n, stage: tick KEY}",
		"prompt":           "{id: n, prompt: go KEY}",
		"steps":            "{id: n, prompt: go, steps: {from: early, path: x} KEY}",
		"completion":       "{id: n, prompt: go, completion: plateau KEY}",
		"termination":      "{id: n, prompt: go, termination: {type: judgment} KEY}",
		"block":            "{id: n, parallel: {providers: [mock], stages: [{id: b, prompt: y}]} KEY}",
		"stage of a block": "{id: n, parallel: {providers: [mock], stages: [{id: b, prompt: y KEY}]}}",
		"pipeline":         "{id: n, pipeline: sub.yaml KEY}",
		"wrapped pipeline": "{id: n, wraps: {pipeline: sub.yaml} KEY}",
		"wrapped command":  "{id: n, wraps: {run: cat} KEY}",
		"stage alone":      "{role: r KEY}",
	} {
		t.Run(kind, func(t *testing.T) {
			table, alone := dialect.Node, kind == "stage alone"
			if alone {
				table = dialect.Stage
			}
			without, found := outcome(text, "", alone)
			require(t, without != nil, found)
			named := strings.NewReplacer("loop", "stage", "wraps", "wrap") // messages use other words for these keys
			for _, key := range table.Names() {
				require(t, sampleKeys[key] != "", "no sample of", key)
				with, found := outcome(text, ", "+key+": "+sampleKeys[key], alone)
				lost := with == nil || cmp.Equal(without, with, cmpopts.IgnoreFields(plan.Plan{}, "Source"))
				require(t, !lost || strings.Contains(found, named.Replace(key)), key, found)
			}
		})
	}
}

// catalog is a fixed set of components like the shipped ones.
type catalog struct{}

var providerFacts = map[string]struct{ name, model string }{
	"claude":      {"claude", "opus"},
	"claude-code": {"claude", "opus"},
	"anthropic":   {"claude", "opus"},
	"codex":       {"codex", "gpt-5.2-codex"},
	"openai":      {"codex", "gpt-5.2-codex"},
	"mock":        {"mock", ""},
	"command":     {"command", ""},
}

func (catalog) Provider(name string) (canonical, model string, ok bool) {
	p, ok := providerFacts[name]
	return p.name, p.model, ok
}

func (catalog) Locality(name string) sdk.Locality {
	if name == "mock" || name == "command" {
		return sdk.LocalityLocal
	}
	return sdk.LocalityRemote
}

func (catalog) Providers() []string { return []string{"claude", "codex", "mock"} }

func (c catalog) Termination(name string) bool { return slices.Contains(c.Terminations(), name) }

var actionNames = map[string]string{"check": "check", "mock": "mock", "script": "script", "webhook": "webhook", "post": "webhook"}

func (catalog) HookAction(name string) (canonical string, ok bool) {
	canonical, ok = actionNames[name]
	return canonical, ok
}

func (catalog) HookActions() []string { return []string{"check", "mock", "script", "webhook"} }

func (catalog) Terminations() []string { return []string{"checks", "fixed", "judgment", "queue"} }
