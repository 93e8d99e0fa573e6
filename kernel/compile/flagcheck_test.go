package compile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// U112, K37: an early end is checked like every other path through the nodes.
func TestExitAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"a node": {file("exit_after: b", "nodes:", "- {id: a, prompt: x}", "- {id: b, prompt: x, transitions: {success: d, fail: a}}", "- {id: c, prompt: x}", "- {id: d, prompt: x, transitions: {fail: c}}"), []string{}},
		"none":   {file("exit_after: spce", "nodes:", "- {id: spec, prompt: x}", "- {id: red, prompt: x}"), []string{`p.yaml:2:13: error[AP-YAML-218]: exit_after names unknown node "spce" (did you mean "spec"? available: red, spec)`}},
		"words":  {file("exit_after: [a]", "nodes: [{id: a, prompt: x}]"), []string{`p.yaml:2:13: error[AP-YAML-101]: exit_after must be text, not a list`}},
		"required behind it": {file("exit_after: a", "nodes:", "- {id: a, prompt: x}", "- {id: b, prompt: x, policy: {required: true}}"), []string{
			`p.yaml:2:13: error[AP-YAML-213]: required node "b" is left out on the path a → done (let every edge pass through it, or remove required)`,
		}},
		"required, left out anyway": {file("exit_after: a", "nodes:", "- {id: a, prompt: x, transitions: {fail: done}}", "- {id: b, prompt: x, policy: {required: true}}"), []string{
			`p.yaml:5:31: error[AP-YAML-213]: required node "b" is left out on the path a → done (let every edge pass through it, or remove required)`,
		}},
		"required before it": {file("exit_after: b", "nodes:", "- {id: a, prompt: x, policy: {required: true}}", "- {id: b, prompt: x}", "- {id: c, prompt: x}"), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, tt.yaml, nil)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

const traversalFile = `name: p
exit_after: green
nodes:
- {id: plan, prompt: x, artifact: {type: t}}
- {id: spec, prompt: x, policy: {required: true}}
- {id: red, prompt: x, steps: {from: plan, path: t}}
- {id: green, prompt: x, transitions: {fail: red}}
- {id: ship, prompt: x}
`

// U018, U019, K37: the command line can set the start and the end of a run.
func TestCourse(t *testing.T) {
	relaxed := strings.ReplaceAll(traversalFile, ", policy: {required: true}", "")
	given := map[string]string{"plan": "plan.yaml"}
	for name, tt := range map[string]struct {
		yaml string
		over compile.Overrides
		want []string
	}{
		"fine":                          {relaxed, compile.Overrides{Start: "red", Artifacts: given}, nil},
		"to the end of the list":        {relaxed, compile.Overrides{ExitAfter: "ship"}, nil},
		"one node":                      {relaxed, compile.Overrides{Start: "spec", ExitAfter: "spec"}, nil},
		"behind the exit, with another": {relaxed, compile.Overrides{Start: "ship", ExitAfter: "ship"}, nil},
		"unknown names": {relaxed, compile.Overrides{Start: "rde", ExitAfter: "grene", Iterate: []string{"spec", "spc"}}, []string{
			`--exit-after: error[AP-YAML-218]: --exit-after names unknown node "grene" (did you mean "green"? available: green, plan, red, ship, spec)`,
			`--iterate: error[AP-YAML-218]: --iterate names unknown node "spc" (did you mean "spec"? available: green, plan, red, ship, spec)`,
			`--start: error[AP-YAML-218]: --start names unknown node "rde" (did you mean "red"? available: green, plan, red, ship, spec)`,
		}},
		"a required node before the start": {traversalFile, compile.Overrides{Start: "red", Artifacts: given}, []string{
			`--start: error[AP-YAML-213]: required node "spec" is left out on the path red → green → done (let every edge pass through it, or remove required)`,
		}},
		"a required node behind the exit": {traversalFile, compile.Overrides{ExitAfter: "plan"}, []string{
			`--exit-after: error[AP-YAML-213]: required node "spec" is left out on the path plan → done (let every edge pass through it, or remove required)`,
		}},
		"both": {traversalFile, compile.Overrides{Start: "red", ExitAfter: "ship", Artifacts: given}, []string{
			`--start --exit-after: error[AP-YAML-213]: required node "spec" is left out on the path red → green → ship → done (let every edge pass through it, or remove required)`,
		}},
		"an end before the beginning": {relaxed, compile.Overrides{Start: "green", ExitAfter: "spec"}, []string{
			`--start: error[AP-YAML-107]: the run cannot begin with node "green": "red" takes its steps from "plan", which does not run (give that node's artifact: --artifact plan=FILE)`,
			`--start: error[AP-YAML-107]: the run cannot begin with node "green": --exit-after ends it after "spec", which comes before it (begin with it or before it, or end later)`,
		}},
		"the file's end before the beginning": {relaxed, compile.Overrides{Start: "ship"}, []string{
			`--start: error[AP-YAML-107]: the run cannot begin with node "ship": exit_after of the file ends it after "green", which comes before it (set the end: --exit-after NODE)`,
		}},
		"a start that is skipped": {relaxed, compile.Overrides{Start: "red", Skip: []string{"red"}}, []string{
			`--start: error[AP-YAML-107]: the run cannot begin with node "red": --skip leaves it out (leave one of the two out)`,
		}},
		"steps of a node that is given": {relaxed, compile.Overrides{Skip: []string{"plan"}, Artifacts: given}, nil},
		"a time": {relaxed, compile.Overrides{Timeout: -time.Second}, []string{
			`--timeout: error[AP-YAML-103]: the timeout of the run must be more than 0 seconds, not -1 (leave it out to use the timeout of the files)`,
		}},
		"names of artifacts": {relaxed, compile.Overrides{Artifacts: map[string]string{"": "f", "$input": "f", "a..b": "f", "violation": "", "c.d": "f"}}, []string{
			`--artifact: error[AP-YAML-102]: artifact "violation" has no file (write NAME=FILE)`,
			`--artifact: error[AP-YAML-105]: invalid artifact name "" (write NAME=FILE with the id of a node, or the name of a field)`,
			`--artifact: error[AP-YAML-105]: invalid artifact name "$input" (write NAME=FILE with the id of a node, or the name of a field)`,
			`--artifact: error[AP-YAML-105]: invalid artifact name "a..b" (write NAME=FILE with the id of a node, or the name of a field)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := compilePlan(t, tt.yaml, tt.over, nil)
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				if o := p.Pipeline.Overrides; o.Start != tt.over.Start || o.ExitAfter != tt.over.ExitAfter {
					t.Errorf("overrides %+v", o)
				}
				return
			}
			if err == nil {
				t.Fatal("no fault")
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// An artifact of the command line is reported as unused if the node of that name runs.
func TestArtifactThatIsReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		over compile.Overrides
		want string
	}{
		"it runs": {compile.Overrides{Artifacts: map[string]string{"a": "f"}}, `--artifact: warning[AP-YAML-303]: the artifact "a" is replaced: the node of that name runs and makes its own (start after that node with --start, or skip it with --skip a)`},
		"behind":  {compile.Overrides{Start: "b", Artifacts: map[string]string{"a": "f"}}, ""},
		"skipped": {compile.Overrides{Skip: []string{"a"}, Artifacts: map[string]string{"a": "f"}}, ""},
		"a field": {compile.Overrides{Artifacts: map[string]string{"other": "f"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := file("nodes:", "- {id: a, prompt: x, artifact: {type: t}}", "- {id: b, prompt: x, transitions: {fail: a}}")
			dir := t.TempDir()
			writeFile(t, dir+"/p.yaml", []byte(text))
			r, err := compile.Pipeline(compile.Request{
				Roots: sources.Roots{Project: dir}, File: "p.yaml", Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{}, Overrides: tt.over,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Warnings.Error(); got != tt.want {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
		})
	}
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
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
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
	if diff := cmp.Diff(&plan.Guardrails{MaxRuntimeSeconds: 90, Source: "--timeout"}, p.Pipeline.Guardrails); diff != "" {
		t.Errorf("guardrails (-want +got):\n%s", diff)
	}
	if inner := p.Nodes[0].Plan.Pipeline.Guardrails; inner.MaxRuntimeSeconds != 5 || p.Pipeline.Overrides.Timeout != 90 {
		t.Errorf("inside %+v, overrides %+v", inner, p.Pipeline.Overrides)
	}
}
