package compile_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// file returns a pipeline with the lines after its name.
func file(lines ...string) string { return "name: p\n" + strings.Join(lines, "\n") + "\n" }

// compilePlan compiles a file in a directory with other files.
func compilePlan(t *testing.T, text string, over compile.Overrides, others map[string]string) (*plan.Plan, error) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte(text))
	for name, text := range others {
		writeFile(t, filepath.Join(dir, name), []byte(text))
	}
	r, err := compile.Pipeline(compile.Request{
		Roots: sources.Roots{Project: dir, Library: library(nil)}, File: "p.yaml", Session: "s",
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{}, Overrides: over,
	})
	if err != nil {
		return nil, err
	}
	return r.Plan, nil
}

// Commands of an embedded pipeline are those of its own file, then those of the pipelines that embed it.
func TestCommandsInChecks(t *testing.T) {
	const outer = "name: %\ncommands: {test: %}\nnodes: [{id: in, pipeline: inner.yaml}]\n"
	p, err := compilePlan(t, file("commands: {test: own, lint: 'a \"b\"'}", "nodes:",
		"- {id: verify, prompt: x, checks: [{id: t, type: tests, run: '${COMMANDS.test} && ${COMMANDS.lint} && ${HOME}', expect: {max_warnings: 9007199254740993}}]}",
		"- {id: one, pipeline: one.yaml}", "- {id: two, pipeline: two.yaml}", "- {id: in, pipeline: inner.yaml}"),
		compile.Overrides{Commands: map[string]string{"lint": "lint & go"}}, map[string]string{
			"one.yaml": strings.ReplaceAll(outer, "%", "one"), "two.yaml": strings.ReplaceAll(outer, "%", "two"),
			"inner.yaml": "name: inner\nnodes:\n- id: b\n  parallel:\n    providers: [mock]\n    stages:\n    - {id: s, prompt: x, checks: [{id: t, type: command, run: '${COMMANDS.test}; ${COMMANDS.lint}'}]}\n",
		})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"0": `{"command":"own \u0026\u0026 lint \u0026 go \u0026\u0026 ${HOME}","expect":{"max_warnings":9007199254740993},"type":"tests"}`, "1.0.0.0": `{"command":"one; lint \u0026 go","type":"command"}`,
		"2.0.0.0": `{"command":"two; lint \u0026 go","type":"command"}`, "3.0.0": `{"command":"own; lint \u0026 go","type":"command"}`,
	} {
		if got := string(p.Find(path).Checks[0].Config); got != want {
			t.Errorf("the check at %s is %s, want %s", path, got, want)
		}
	}
}

// An optional check whose command is missing is left out with a warning: a pipeline for many projects does not
// know their commands.
func TestOptionalChecks(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte(file("commands: {test: make, lint: x}", "nodes:",
		"- {id: verify, prompt: x, checks: [{id: t, type: tests, run: '${COMMANDS.test}', optional: true}, {id: b, type: command, run: 'time ${COMMANDS.build}', optional: true}, {id: l, type: command, run: '${COMMANDS.lint}', optional: true}]}")))
	r, err := compile.Pipeline(compile.Request{
		Roots: sources.Roots{Project: dir}, File: "p.yaml", Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
		Overrides: compile.Overrides{Commands: map[string]string{"lint": " "}}, // a blank value of the command line removes a command
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Check{
		{ID: "t", Config: json.RawMessage(`{"command":"make","type":"tests"}`), Optional: true},
		{ID: "b", Config: json.RawMessage(`{"command":"time ${COMMANDS.build}","type":"command"}`), Optional: true, SkipReason: `there is no command "build"`},
		{ID: "l", Config: json.RawMessage(`{"command":"${COMMANDS.lint}","type":"command"}`), Optional: true, SkipReason: `there is no command "lint"`},
	}
	compare(t, want, r.Plan.Nodes[0].Checks)
	warnings := []string{
		`p.yaml:4:99: warning[AP-YAML-310]: check "b" is left out: there is no command "build" (name it: commands: {build: …} in .claude/config.yaml, or --command build='…')`,
		`p.yaml:4:170: warning[AP-YAML-310]: check "l" is left out: there is no command "lint" (name it: commands: {lint: …} in .claude/config.yaml, or --command lint='…')`,
	}
	compare(t, strings.Join(warnings, "\n"), r.Warnings.Error())
}

// A stage that runs alone has no checks: it cannot end by them, and none can fill its kernel fields.
func TestContractOfAStageAlone(t *testing.T) {
	files := library(map[string]string{
		"s":  "role: planner\nartifact: {type: t, version: 2, kernel_fields: {n: checks.tests.counts}}\n",
		"by": "termination: {type: checks, max: 2}\n", "bad": "role: a/b\n",
	})
	for _, name := range []string{"s", "by", "bad"} {
		files["stages/"+name+"/prompt.md"] = &fstest.MapFile{}
	}
	req := compile.Request{
		Roots: sources.Roots{Project: t.TempDir(), Library: files}, Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	r := must(compile.Stage(req, compile.Loop{Stage: "s"}))
	n := r.Plan.Nodes[0]
	if diff := cmp.Diff(&plan.Artifact{Type: "t", Version: "2"}, n.Artifact); diff != "" || n.Role != "planner" || len(r.Warnings) != 1 {
		t.Errorf("role %q, warnings %v, artifact (-want +got):\n%s", n.Role, r.Warnings, diff)
	}
	for name, want := range map[string]string{
		"by":  "a stage that runs alone has no checks and cannot end by them",
		"bad": `role "a/b" contains a slash`,
	} {
		if _, err := compile.Stage(req, compile.Loop{Stage: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	dir := must(req.FindStage("by", ""))
	if _, found := compile.CheckStage(req, dir, compile.Loop{Stage: "by"}); found.HasErrors() {
		t.Errorf("faults: %v", found)
	}
}

// Checks of a stage come before those of its node, which replace those with the same id. Their values can fill its
// artifact.
func TestChecksOfStages(t *testing.T) {
	stages := map[string]string{
		".claude/stages/deliver/prompt.md": "hand it over",
		".claude/stages/deliver/stage.yaml": `checks:
  - {id: first, type: command, run: 'sh "$AGENT_PIPELINES_STAGE_DIR/first.sh"'}
  - {id: second, type: command, run: "${COMMANDS.test}"}
artifact: {kernel_fields: {sha: checks.first.output}}
`,
	}
	p := must(compilePlan(t, file("commands: {test: make}", "nodes:", "- {id: a, stage: deliver}", "- {id: b, stage: deliver, checks: [{id: first, type: file, path: x}, {id: third, type: file, path: y}]}"), compile.Overrides{}, stages))
	var got []string
	for _, n := range p.Nodes {
		for _, c := range n.Checks {
			got = append(got, n.ID+" "+c.ID+" "+string(c.Config))
		}
	}
	want := []string{
		`a first {"command":"sh \"$AGENT_PIPELINES_STAGE_DIR/first.sh\"","type":"command"}`, `a second {"command":"make","type":"command"}`,
		`b second {"command":"make","type":"command"}`, `b first {"path":"x","type":"file"}`, `b third {"path":"y","type":"file"}`,
	}
	compare(t, want, got)
}

// U018, U251, B6: the flags and the keys of the file make the same hooks, one for each node.
func TestQuestionsOfTheCommandLine(t *testing.T) {
	const nodes = "nodes:\n- {id: a, prompt: x}\n- {id: b, prompt: x, require_human_approval: true}\n- {id: c, prompt: x}\n- {id: d, prompt: x}"
	for name, tt := range map[string]struct {
		yaml string
		over compile.Overrides
		want []string
	}{
		"nothing":              {file(nodes), compile.Overrides{}, []string{"b p.yaml:4:46"}},
		"supervised":           {file(nodes), compile.Overrides{Supervised: true}, []string{"a --supervised", "b p.yaml:4:46", "c --supervised"}},
		"as the file says":     {file("supervised: true", nodes), compile.Overrides{Supervised: true}, []string{"a p.yaml:2:13", "b p.yaml:5:46", "c p.yaml:2:13"}},
		"iterate":              {file(nodes), compile.Overrides{Iterate: []string{"b", "d"}}, []string{"b p.yaml:4:46", "d --iterate"}},
		"both":                 {file(nodes), compile.Overrides{Supervised: true, Iterate: []string{"a", "d"}}, []string{"a --iterate", "b p.yaml:4:46", "c --supervised", "d --iterate"}},
		"the last is the exit": {file("exit_after: c", nodes), compile.Overrides{Supervised: true}, []string{"a --supervised", "b p.yaml:5:46", "d --supervised"}},
		"the command line's":   {file("exit_after: c", "supervised: true", nodes), compile.Overrides{ExitAfter: "a"}, []string{"b p.yaml:6:46", "c p.yaml:3:13", "d p.yaml:3:13"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(compilePlan(t, tt.yaml, tt.over, nil))
			var got []string
			for _, h := range p.Pipeline.Hooks {
				if !h.Supervise || !h.AcceptFeedback || h.Action != plan.ActionConfirm || h.Point != plan.PointStageEnd {
					t.Errorf("no question of a supervised run: %+v", h)
				}
				got = append(got, h.Stage+" "+h.Source)
			}
			compare(t, tt.want, got)
		})
	}
}

// U104: the run timeout of the command line replaces that of the file, but not those of embedded pipelines.
func TestTimeoutOfTheRun(t *testing.T) {
	p, err := compilePlan(t, file("policy: {timeout: 60}", "nodes: [{id: a, pipeline: in.yaml}]"), compile.Overrides{Timeout: 90 * time.Second}, map[string]string{
		"in.yaml": "name: in\nguardrails: {max_runtime_seconds: 5}\nnodes: [{id: b, prompt: x}]\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, &plan.Guardrails{MaxRuntimeSeconds: 90, Source: "--timeout"}, p.Pipeline.Guardrails)
	if inner := p.Nodes[0].Plan.Pipeline.Guardrails; inner.MaxRuntimeSeconds != 5 || p.Pipeline.Overrides.Timeout != 90 {
		t.Errorf("inside %+v, overrides %+v", inner, p.Pipeline.Overrides)
	}
}
