package lint_test

import (
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

// components is a catalog of two providers, four termination strategies and one hook action.
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
func (components) Reports(provider string) (usd, tokens bool) { return provider != "free", true }
func (components) Models(provider string) (known []string, exclusive bool) {
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

// U017: all faults of a stage or a pipeline are reported at once, each with its position.
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
			`.claude/stages/bad/prompt.md:2:6: warning[AP-YAML-402]: Unknown template variable: ${WRONG_VAR} (the agent gets the text unchanged; ${CTX} names a file with the whole context)`,
			`.claude/stages/bad/prompt.md:2:23: warning[AP-YAML-402]: Unknown template variable: ${INPUTS.x} (the agent gets the text unchanged; ${CTX} names a file with the whole context)`,
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
		"a shipped stage":       {"stage", "shipped", []string{`library:stages/shipped/prompt.md:1:4: warning[AP-YAML-402]: Unknown template variable: ${THIS} (the agent gets the text unchanged; ${CTX} names a file with the whole context)`}},
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

// compare checks that each diagnostic begins with its wanted line, and that the target passed if and only if no
// diagnostic is an error.
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

// The name of a file decides the kind of its target, in every directory.
func TestFile(t *testing.T) {
	l := project(t, map[string]string{"elsewhere/good/stage.yaml": goodStage, "elsewhere/good/prompt.md": ""})
	for _, path := range []string{"elsewhere/good", "elsewhere/good/stage.yaml"} {
		got := testkit.Must(l.File(path))
		testkit.Equal(t, "stage good elsewhere/good/stage.yaml", got.Kind+" "+got.Name+" "+got.File)
	}
}

// Checking ends without a panic for every content of a file.
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

// U140, U145: fields that no node promises or makes are found before a run.
func TestFields(t *testing.T) {
	const head = "name: p\nnodes:\n"
	l := project(t, map[string]string{
		".claude/pipelines/p.yaml": head +
			"- {id: a, prompt: x, artifact: {type: t, carry: [anything], kernel_fields: {counts.total: checks.c.counts}, schema: {required: [goal, inner, both], properties: {goal: {type: string}, more: {type: string}, inner: {required: [deep]}}}}, checks: [{id: c, type: file, path: x}]}\n" +
			"- {id: b, prompt: x, requires: {a: [goal, more, inner.deep, inner.other, both.x, anything, request_id, counts.total, counts, none], '*': [what], $input: [ever]}, runs: 1}\n",
		".claude/pipelines/q.yaml": head +
			"- {id: a, prompt: x, artifact: {schema: {properties: {goal: {}, note: {}}}}}\n" +
			"- {id: b, prompt: x, requires: {$input: [given]}, artifact: {from: 'tool:hand_in', carry: [goal, gaol, request_id, given, later, nothing], defaults_from: {text: goal, other: goall}, schema: {properties: {text: {}}}}}\n" +
			"- {id: c, prompt: x, provider: strict, skip_when: done, artifact: {from: 'tool:hand_in', carry: [text, other.part], defaults_from: {text: text}, schema: {properties: {later: {}}}}}\n",
		".claude/pipelines/open.yaml": head +
			"- {id: a, prompt: x, artifact: {schema: {anyOf: [{required: [x]}, {required: [y]}]}}}\n" +
			"- {id: b, prompt: x, requires: {a: [x, z]}, artifact: {type: t, carry: [whatever]}}\n" +
			"- {id: c, prompt: x, requires: {b: [x]}, artifact: {type: t, carry: [whatever]}}\n",
		".claude/pipelines/circle.yaml": head +
			"- {id: a, prompt: x, artifact: {schema: {$ref: '#/$defs/r', $defs: {r: {$ref: '#/$defs/r'}}}}}\n" +
			"- {id: b, prompt: x, requires: {a: [x]}, artifact: {type: t}}\n",
	})
	for name, want := range map[string][]string{
		"p": {
			`.claude/pipelines/p.yaml:4:43: warning[AP-YAML-409]: node "b" requires more of a, whose contract does not promise it: its schema does not require it, nor is it carried or measured (add the field to required in that node's schema, or to its artifact.carry)`,
			`.claude/pipelines/p.yaml:4:126: warning[AP-YAML-409]: node "b" requires none of a, whose contract does not promise it: its schema does not require it, nor is it carried or measured (add the field to required in that node's schema, or to its artifact.carry)`,
		},
		"q": {
			`.claude/pipelines/q.yaml:4:98: warning[AP-YAML-410]: no other node makes the field "gaol" (did you mean "goal"?)`,
			`.claude/pipelines/q.yaml:4:130: warning[AP-YAML-410]: no other node makes the field "nothing" (if it is a field of the run's input, list it under requires: {$input: […]})`,
			`.claude/pipelines/q.yaml:4:175: warning[AP-YAML-410]: no other node makes the field "goall" (did you mean "goal"?)`,
		},
		"open":   nil,
		"circle": nil,
	} {
		t.Run(name, func(t *testing.T) {
			got := testkit.Must(l.Pipeline(name))
			compare(t, want, got)
		})
	}
}

// U082, U122: transitions, verdicts and ceilings that compile but are probably mistakes get warnings.
func TestFlow(t *testing.T) {
	const mapped = "artifact: {schema: {properties: {status: {enum: [pass, fail, unsure]}}}, verdict: {field: status, map: {pass: success, fail: fail}}}"
	l := project(t, map[string]string{
		".claude/stages/judge/stage.yaml": "termination: {type: fixed}\n" + mapped + "\n",
		".claude/stages/judge/prompt.md":  "write ${ARTIFACT}",
		".claude/pipelines/inner.yaml":    "name: inner\nnodes: [{id: i, prompt: x, runs: 1, provider: free}]\n",
		".claude/pipelines/p.yaml": "name: p\npolicy: {cost: {max_usd: 5}}\nnodes:\n" +
			"- {id: a, prompt: x, provider: strict, termination: {type: checks, max: 3}, checks: [{id: c, type: file, path: x}], transitions: {reject: done, budget: done}}\n" +
			"- {id: b, pipeline: inner, transitions: {error: a, fail: a, success: next}, policy: {cost: {max_usd: 1, max_tokens: 5}}}\n" +
			"- id: c\n  transitions: {timeout: a, escalate: a}\n  parallel:\n    providers: [strict]\n    stages:\n    - {id: s, prompt: x, runs: 1, " + mapped + "}\n",
		".claude/pipelines/fine.yaml": "name: fine\npolicy: {cost: {max_usd: 5, reserve_usd: 1}}\nnodes:\n" +
			"- {id: a, prompt: x, provider: free, termination: {type: checks, max: 3}, checks: [{id: c, type: file, path: x}], transitions: {fail: done, budget: done}}\n",
		".claude/pipelines/free.yaml": "name: free\nnodes:\n- {id: a, prompt: x, runs: 1, transitions: {budget: done}}\n",
	})
	for name, want := range map[string][]string{
		"p": {
			`.claude/pipelines/p.yaml:2:26: warning[AP-YAML-408]: attempts of free do not report their usage: the first one counts as all of max_usd (add reserve_usd:)`,
			`.claude/pipelines/p.yaml:4:53: warning[AP-YAML-407]: node "a" has no edge for checks that never pass: all its iterations are repeated, and then the user is asked (set the target of fail in transitions)`,
			`.claude/pipelines/p.yaml:5:42: warning[AP-YAML-406]: node "b" never ends as error: the embedded pipeline handles it itself (remove the edge)`,
			`.claude/pipelines/p.yaml:5:102: warning[AP-YAML-408]: attempts of free do not report their usage: the first one counts as all of max_usd (add reserve_usd:)`,
			`.claude/pipelines/p.yaml:7:17: warning[AP-YAML-406]: node "c" never ends as timeout: a block whose providers fail ends as fail (remove the edge)`,
			`.claude/pipelines/p.yaml:11:138: warning[AP-YAML-406]: the schema allows unsure for status, which verdict.map maps to no outcome: such an artifact is refused (give each an outcome)`,
		},
		"fine": nil,
		"free": {`.claude/pipelines/free.yaml:3:45: warning[AP-YAML-406]: node "a" never ends as budget: there is no cost or budget in its policy (remove the edge)`},
	} {
		t.Run(name, func(t *testing.T) {
			got := testkit.Must(l.Pipeline(name))
			compare(t, want, got)
		})
	}
	got := testkit.Must(l.Stage("judge"))
	compare(t, []string{`.claude/stages/judge/stage.yaml:2:104: warning[AP-YAML-406]: the schema allows unsure for status, which verdict.map maps to no outcome: such an artifact is refused (give each an outcome)`}, got)
}
