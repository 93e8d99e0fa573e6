package lint_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// components are two providers and three strategies.
type components struct{}

func (components) Provider(name string) (canonical, model string, ok bool) {
	return name, "big", slices.Contains(components{}.Providers(), name)
}
func (components) Providers() []string { return []string{"free", "strict"} }
func (components) Termination(name string) bool {
	return slices.Contains(components{}.Terminations(), name)
}

func (components) Terminations() []string { return []string{"checks", "fixed", "judgment", "queue"} }

func (components) HookAction(name string) (canonical string, ok bool) {
	return name, slices.Contains(components{}.HookActions(), name)
}
func (components) HookActions() []string                      { return []string{"check"} }
func (components) OffersTools(provider string) bool           { return provider != "free" }
func (components) Reports(provider string) (usd, tokens bool) { return provider != "free", true }
func (components) Models(provider string) (known []string, only bool) {
	return []string{"big", "small"}, provider == "strict"
}

// project writes files and returns a linter for them.
func project(t *testing.T, files map[string]string) lint.Linter {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o750))
		testkit.OK(t, os.WriteFile(file, []byte(content), 0o600))
	}
	library := fstest.MapFS{
		"stages/shipped/stage.yaml": {Data: []byte("name: shipped\ntermination: {type: fixed}\n")},
		"stages/shipped/prompt.md":  {Data: []byte("do ${THIS}\n")},
	}
	return lint.Linter{
		Request: compile.Request{Roots: sources.Roots{Project: dir, Library: library}, DefaultProvider: "free"},
		Catalog: components{},
	}
}

const (
	goodStage = "name: good\ntermination:\n  type: judgment\n  min_iterations: 2\n  consensus: 2\n"
	badStage  = "name: bad\nmodel: huge\ndelay: soon\n"
)

// U017: everything that is wrong with a stage or a pipeline is said at once, each with its place.
func TestTargets(t *testing.T) {
	files := map[string]string{
		".claude/stages/good/stage.yaml":  goodStage,
		".claude/stages/good/prompt.md":   "work on ${CTX}",
		".claude/stages/bad/stage.yaml":   badStage,
		".claude/stages/bad/prompt.md":    "first\nthen ${WRONG_VAR} and ${INPUTS.x}\n",
		".claude/stages/quick/stage.yaml": "termination: {type: judgment}\nprovider: strict\nmodel: huge\n",
		".claude/stages/quick/prompt.md":  "",
		".claude/stages/empty/stage.yaml": "",
		".claude/stages/old/stage.yaml":   "completion: plateau\nmin_iterations: 2\nconsensus: 3\nmodel: small:high\n",
		".claude/stages/old/prompt.md":    "",
		".claude/stages/shown/stage.yaml": "termination: {type: fixed}\nartifact:\n  schema: {type: object, required: [a, b], properties: {a: {enum: [x]}, b: {type: string}}}\n",
		".claude/stages/shown/prompt.md":  "```sh\nls\n```\nlike\n```json\n{\"a\": \"y\"}\n```\n```json\n{\"b\": 1}\n```\n",
		".claude/pipelines/p.yaml": "name: p\nnodes:\n- id: a\n  stage: nope\n- id: b\n  stage: good\n- id: c\n  prompt: do ${WHAT}\n  model: huge\n" +
			"  termination: {type: judgment}\n- id: d\n  parallel:\n    providers: [free]\n    stages:\n    - {id: x, prompt: do it}\n- id: e\n  runs: 1\n  stage: good\n",
		".claude/pipelines/broken.yaml": "nodes: [",
		".claude/pipelines/digits.yaml": "name: digits\nnodes:\n- {id: 5, prompt: x}\n- {id: 1.50, prompt: x}\n- {id: [], prompt: x}\n",
		".claude/pipelines/empty.yaml":  "name: empty\nnodes: []\n",
	}
	for name, tt := range map[string]struct {
		kind, name string
		want       []string
	}{
		"a stage without faults": {"stage", "good", nil},
		"a stage with many": {"stage", "bad", []string{
			`.claude/stages/bad/prompt.md:2:6: warning[AP-YAML-402]: Unknown template variable: ${WRONG_VAR} (the agent gets it as it is; ${CTX} names a file with all there is to know)`,
			`.claude/stages/bad/prompt.md:2:23: warning[AP-YAML-402]: Unknown template variable: ${INPUTS.x} (the agent gets it as it is; ${CTX} names a file with all there is to know)`,
			`.claude/stages/bad/stage.yaml:1:1: error[AP-YAML-401]: Missing 'termination.type' field in stage.yaml (v3 schema) (add termination: {type: fixed}, or judgment or queue)`,
			`.claude/stages/bad/stage.yaml:2:8: warning[AP-YAML-403]: provider free is not known to have a model "huge" (known: big, small)`,
			`.claude/stages/bad/stage.yaml:3:8: error[AP-YAML-101]: delay must be a number, not text`,
		}},
		"a hasty judgment": {"stage", "quick", []string{
			`.claude/stages/quick/stage.yaml:1:14: warning[AP-YAML-404]: Judgment loops should have min_iterations >= 2 (current: 1)`,
			`.claude/stages/quick/stage.yaml:1:14: warning[AP-YAML-404]: Judgment loops should specify 'termination.consensus' (defaulting to 2)`,
			`.claude/stages/quick/stage.yaml:3:8: error[AP-YAML-403]: provider strict has no model "huge" (known: big, small)`,
		}},
		"an example that does not fit": {"stage", "shown", []string{
			`.claude/stages/shown/prompt.md:1:1: warning[AP-YAML-413]: The example of the artifact does not fit its schema: $.a: VAL-008: must be one of "x", not "y" (`,
		}},
		"an empty stage.yaml":   {"stage", "empty", []string{`.claude/stages/empty/stage.yaml:1:1: error[AP-YAML-008]: the file is empty`}},
		"the old keys":          {"stage", "old", nil},
		"a shipped stage":       {"stage", "shipped", []string{`library:stages/shipped/prompt.md:1:4: warning[AP-YAML-402]: Unknown template variable: ${THIS} (the agent gets it as it is; ${CTX} names a file with all there is to know)`}},
		"a file that is broken": {"pipeline", "broken", []string{`.claude/pipelines/broken.yaml:1:1: error[AP-YAML-001]: `}},
		"ids that are numbers": {"pipeline", "digits", []string{
			`.claude/pipelines/digits.yaml:3:3: warning[AP-YAML-405]: Node '5': missing`,
			`.claude/pipelines/digits.yaml:4:3: warning[AP-YAML-405]: Node '1.50': missing`,
			`.claude/pipelines/digits.yaml:5:3: warning[AP-YAML-405]: Node without an id: missing`,
			`.claude/pipelines/digits.yaml:5:8: error[AP-YAML-101]: id must be text, not a list`,
		}},
		"a pipeline without nodes": {"pipeline", "empty", []string{`.claude/pipelines/empty.yaml:2:8: error[AP-YAML-304]: Empty 'nodes' array (add a node)`}},
		"a pipeline": {"pipeline", "p", []string{
			`.claude/pipelines/p.yaml:3:3: warning[AP-YAML-405]: Node 'a': missing 'runs' field (will use default) (add runs: 1)`,
			`.claude/pipelines/p.yaml:4:10: error[AP-YAML-201]: unknown stage "nope" (`,
			`.claude/pipelines/p.yaml:5:3: warning[AP-YAML-405]: Node 'b': missing 'runs' field (will use default) (add runs: 1)`,
			`.claude/pipelines/p.yaml:8:11: warning[AP-YAML-402]: Unknown template variable: ${WHAT} (`,
			`.claude/pipelines/p.yaml:9:10: warning[AP-YAML-403]: provider free is not known to have a model "huge" (`,
			`.claude/pipelines/p.yaml:10:16: warning[AP-YAML-404]: Judgment loops should have min_iterations >= 2 (current: 1)`,
			`.claude/pipelines/p.yaml:10:16: warning[AP-YAML-404]: Judgment loops should specify 'termination.consensus' (defaulting to 2)`,
			`.claude/pipelines/p.yaml:15:7: warning[AP-YAML-405]: Node 'x': missing 'runs' field (will use default) (add runs: 1)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := project(t, files)
			check := l.Stage
			if tt.kind == lint.KindPipeline {
				check = l.Pipeline
			}
			got := testkit.Must(check(tt.name))
			compare(t, tt.want, got)
		})
	}
}

// compare wants the lines to begin as said, and the target to have passed if none of them is a fault.
func compare(t *testing.T, want []string, got lint.Target) {
	t.Helper()
	var lines []string
	faults := false
	for i, d := range got.Diagnostics {
		line := d.String()
		if i < len(want) && strings.HasPrefix(line, want[i]) {
			line = want[i]
		}
		lines = append(lines, line)
		faults = faults || strings.Contains(line, "error[")
	}
	testkit.Equal(t, want, lines)
	if got.Passed == faults {
		t.Errorf("passed is %v", got.Passed)
	}
}

// All leaves out what is shipped.
func TestAll(t *testing.T) {
	l := project(t, map[string]string{
		".claude/stages/good/stage.yaml": goodStage, ".claude/stages/good/prompt.md": "",
		"scripts/stages/bad/stage.yaml": badStage,
		".claude/pipelines/p.yaml":      "name: p\nnodes: [{id: a, stage: good, runs: 2}]\n",
	})
	var got []string
	for _, target := range l.All() {
		got = append(got, target.Kind+" "+target.Name+" "+target.File+" "+map[bool]string{true: "passed", false: "failed"}[target.Passed])
	}
	want := []string{
		"stage bad scripts/stages/bad/stage.yaml failed",
		"stage good .claude/stages/good/stage.yaml passed",
		"pipeline p .claude/pipelines/p.yaml passed",
	}
	testkit.Equal(t, want, got)
}

// A file's name decides its kind, in every directory.
func TestFile(t *testing.T) {
	l := project(t, map[string]string{
		"elsewhere/good/stage.yaml": goodStage, "elsewhere/good/prompt.md": "",
		"elsewhere/p.yaml": "name: p\nnodes: [{id: a, stage: good, runs: 1}]\n",
	})
	for path, want := range map[string]string{
		"elsewhere/good":            "stage good elsewhere/good/stage.yaml",
		"elsewhere/good/stage.yaml": "stage good elsewhere/good/stage.yaml",
		"elsewhere/p.yaml":          "pipeline p elsewhere/p.yaml",
	} {
		got := testkit.Must(l.File(path))
		if name := got.Kind + " " + got.Name + " " + got.File; name != want {
			t.Errorf("%s is %s, want %s", path, name, want)
		}
	}
	for _, path := range []string{"missing.yaml", "missing"} {
		var missing *sources.NotFoundError
		if _, err := l.File(path); !errors.As(err, &missing) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, check := range []func(string) (lint.Target, error){l.Stage, l.Pipeline} {
		var missing *sources.NotFoundError
		if _, err := check("nothing"); !errors.As(err, &missing) {
			t.Errorf("nothing: %v", err)
		}
	}
}

// Checking ends for every content of a file.
func FuzzPipeline(f *testing.F) {
	f.Add("name: p\nnodes:\n- {id: a, prompt: '${X}', model: huge, termination: {type: judgment}}\n")
	f.Add("nodes:\n- parallel: {stages: [1, {id: x, prompt: y}]}\n- 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		l := project(t, map[string]string{"p.yaml": text})
		got := testkit.Must(l.File("p.yaml"))
		if got.Passed == got.Diagnostics.HasErrors() {
			t.Errorf("passed is %v with %v", got.Passed, got.Diagnostics)
		}
	})
}
