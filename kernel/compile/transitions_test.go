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

const planNode = "- {id: plan, prompt: x, artifact: {type: t}}"

// U082, U122, K37, D3: all faults of edges and of paths through the nodes are reported at once.
func TestFlowFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"words and targets": {file("nodes:", "- {id: work, prompt: x}",
			"- {id: check, prompt: x, transitions: {fial: work, fail: worke, error: {to: true}, success: ~, reject: [work], timeout: {limit: 2}, retry: {to: work, on_limit: stop}, skip: {to: next, limt: 1}}}"), []string{
			`p.yaml:4:40: error[AP-YAML-104]: unknown outcome "fial" (did you mean "fail"? available: budget, error, escalate, fail, reject, retry, skip, success, timeout)`,
			`p.yaml:4:58: error[AP-YAML-211]: the edge for fail leads to unknown node "worke" (did you mean "work"? available: abort, check, done, failed, next, pause, retry, work)`,
			`p.yaml:4:77: error[AP-YAML-211]: the edge for error leads to unknown node "true" (available: abort, check, done, failed, next, pause, retry, work)`,
			`p.yaml:4:84: error[AP-YAML-102]: the edge for success has no target (write the target: the id of a node, or next, done, retry, pause, abort or failed)`,
			`p.yaml:4:104: error[AP-YAML-101]: the edge for reject must be the id of a node, or a map, not a list`,
			`p.yaml:4:121: error[AP-YAML-102]: the edge for timeout has no to (add to:)`,
			`p.yaml:4:161: error[AP-YAML-104]: unknown on_limit "stop" (available: abort, failed, pause)`,
			`p.yaml:4:185: warning[AP-YAML-301]: unknown key "limt" in the edge for skip is ignored (did you mean "limit"?)`,
		}},
		"limits": {file("policy: {cycles: {default: 11, max: 4, session: 0, identical: 1}}", "nodes:", "- {id: a, prompt: x, transitions: {fail: {to: a, limit: 0}}}",
			"- {id: b, prompt: x, transitions: {fail: {to: a, limit: 5}}}", "- {id: c, prompt: x, policy: {cycles: {max: 10}}, transitions: {fail: {to: c, limit: 11}, reject: {to: a, limit: 10}}}",
			"- {id: d, prompt: x, policy: {cycles: {default: 6, max: 5}}}"), []string{
			`p.yaml:2:28: error[AP-YAML-103]: default must be at most 10, not 11`,
			`p.yaml:2:49: error[AP-YAML-103]: session must be at least 1, not 0`,
			`p.yaml:2:63: error[AP-YAML-103]: identical must be at least 2 passes, not 1 (leave the key out to disable the comparison)`,
			`p.yaml:4:57: error[AP-YAML-103]: limit must be at least 1, not 0 (an edge may be taken 1 to 10 times)`,
			`p.yaml:5:57: error[AP-YAML-103]: limit must be at most 4, not 5 (or raise cycles.max in the policy)`,
			`p.yaml:6:86: error[AP-YAML-103]: limit must be at most 10, not 11 (an edge may be taken 1 to 10 times)`,
			`p.yaml:7:49: error[AP-YAML-103]: default must be at most max, which is 5, not 6`,
		}},
		"nothing to count": {file("nodes:", "- {id: a, prompt: x, transitions: {success: {to: b, limit: 2}, fail: {to: pause, on_limit: abort, feedback: why}}}", "- {id: b, prompt: x}"), []string{
			`p.yaml:3:53: error[AP-YAML-107]: the edge for success to b cannot have limit: it does not lead back (remove it; only edges that lead back are counted)`,
			`p.yaml:3:82: error[AP-YAML-107]: the edge for fail to pause cannot have on_limit: it does not lead back (remove it; only edges that lead back are counted)`,
			`p.yaml:3:99: warning[AP-YAML-303]: feedback has no effect on an edge to pause: no agent reads it (remove it)`,
		}},
		"the key of other dialects": {file("nodes:", "- {id: a, prompt: x, on: {fail: a}}"), []string{
			`p.yaml:3:22: warning[AP-YAML-301]: unknown key "on" in node "a" is ignored (write transitions:)`,
		}},
		"a node called like a word": {file("nodes:", "- {id: a, prompt: x, transitions: {fail: done}}", "- {id: done, prompt: x}"), []string{
			`p.yaml:3:42: warning[AP-YAML-308]: done is a keyword of transitions here, not the node with that id (give the node another id)`,
		}},
		"never reached": {file("nodes:", "- {id: a, prompt: x, transitions: {success: c}}", "- {id: b, prompt: x}", "- {id: c, prompt: x, transitions: {fail: a}}"), []string{
			`p.yaml:4:8: error[AP-YAML-212]: node "b" is never reached: no edge leads to it (let an edge lead to it, or remove it)`,
		}},
		"no end": {file("nodes:", "- {id: a, prompt: x}", "- {id: b, prompt: x, transitions: {success: a}}"), []string{
			`p.yaml:3:1: error[AP-YAML-212]: no path through the nodes leads to done (let an edge for success lead to done)`,
		}},
		"required": {file("policy: {required: true}", "nodes:", "- {id: plan, prompt: x, transitions: {fail: done}}", "- {id: work, prompt: x, transitions: {success: ship, fail: verify}}",
			"- {id: verify, prompt: x, policy: {required: true}}", "- {id: ship, prompt: x}",
			"- id: b", "  parallel:", "    providers: [mock]", "    stages: [{id: s, prompt: x, policy: {required: true}}]"), []string{
			`p.yaml:2:10: error[AP-YAML-107]: required is a key of nodes (write it in the policy of a node)`,
			`p.yaml:6:36: error[AP-YAML-213]: required node "verify" is left out on the path plan → done (let every edge pass through it, or remove required)`,
			`p.yaml:11:42: error[AP-YAML-107]: required is a key of nodes (write it in the policy of the block)`,
		}},
		"required, by a longer way": {file("nodes:", "- {id: work, prompt: x, transitions: {fail: ship}}", "- {id: verify, prompt: x, policy: {required: true}}", "- {id: ship, prompt: x}"), []string{
			`p.yaml:4:36: error[AP-YAML-213]: required node "verify" is left out on the path work → ship → done (let every edge pass through it, or remove required)`,
		}},
		"steps": {file("nodes:", planNode, "- {id: a, prompt: x, steps: {from: plam, path: 'tasks[*]'}}", "- {id: b, prompt: x, steps: {from: c, path: 'tasks[0]'}}",
			"- {id: c, prompt: x, steps: {from: a, path: t, rerun: some, retry_by: {X: -1, Y: 1.5}}}", "- {id: d, prompt: x, steps: {from: d}}", `- {id: e, prompt: x, steps: {from: plan, path: "\n"}}`), []string{
			`p.yaml:4:36: error[AP-YAML-215]: steps.from names unknown node "plam" (did you mean "plan"?)`,
			`p.yaml:5:36: error[AP-YAML-215]: steps.from names "c", which does not run before this node (move that node up, or use the steps of an earlier one)`,
			`p.yaml:5:45: error[AP-YAML-104]: path "tasks[0]" has an invalid part "tasks[0]": want names separated by dots, with [*] after those of lists, as in tasks[*].steps[*]`,
			`p.yaml:6:36: error[AP-YAML-215]: steps.from names "a", which has no artifact (give that node an artifact)`,
			`p.yaml:6:55: error[AP-YAML-104]: unknown rerun "some" (available: all, failed)`,
			`p.yaml:6:75: error[AP-YAML-103]: X must be at least 0, not -1`,
			`p.yaml:6:82: error[AP-YAML-103]: Y must be a whole number up to 1000000000, not 1.5`,
			`p.yaml:7:29: error[AP-YAML-102]: steps of node "d" has no path (add path:)`,
			`p.yaml:7:36: error[AP-YAML-215]: steps.from names "d", which does not run before this node (move that node up, or use the steps of an earlier one)`,
			`p.yaml:8:29: error[AP-YAML-102]: steps of node "e" has no path (add path:)`,
		}},
		"checks": {file("commands: {test: make, build: make}", "nodes:",
			"- {id: a, prompt: x, checks: [{type: tests, command: '${COMMANDS.tset} -v'}, {id: b, run: x}, {id: b, type: file, run: x, command: y}, {id: a/b, type: t, at: end, timeout: 0}, text]}"), []string{
			`p.yaml:4:31: error[AP-YAML-102]: check 1 of node "a" has no id (add id:)`,
			`p.yaml:4:54: error[AP-YAML-217]: unknown command "tset" in ${COMMANDS.tset} (did you mean "test"? available: build, test; name it under commands: in .claude/config.yaml, or by --command)`,
			`p.yaml:4:78: error[AP-YAML-102]: check 2 of node "a" has no type (add type:)`,
			`p.yaml:4:100: error[AP-YAML-106]: check id "b" is repeated, first in line 4 (give each check its own id)`,
			`p.yaml:4:115: error[AP-YAML-107]: check 3 of node "a" has run and command, which mean the same (keep one of the two)`,
			`p.yaml:4:141: error[AP-YAML-105]: check id "a/b" must be 1 to 64 letters, digits, dots, dashes and underscores (ids become names of files)`,
			`p.yaml:4:159: error[AP-YAML-104]: unknown at "end" (available: enter, exit)`,
			`p.yaml:4:173: error[AP-YAML-103]: timeout must be more than 0 seconds, not 0 (leave the key out for the action's own limit)`,
			`p.yaml:4:177: error[AP-YAML-101]: a check must be a map, not text`,
		}},
		"artifacts": {file("nodes:", "- {id: a, prompt: x, artifact: {tpye: t, from: reslt, schema: 3, verdict: {map: {pass: succes, fail: ~}}, kernel_fields: {a: checks.test.failed, b: checks.tests.fialed, c: tests}}, checks: [{id: tests, type: tests}]}",
			"- {id: b, prompt: x, artifact: {schema: {properties: {a: {typ: x}, b: {type: text}}}, verdict: {field: f}}}", "- {id: c, prompt: x, artifact: {schema: nowhere.yaml}}", "- {id: d, prompt: x, artifact: {}}"), []string{
			`p.yaml:3:33: warning[AP-YAML-301]: unknown key "tpye" in artifact is ignored (did you mean "type"?)`,
			`p.yaml:3:48: error[AP-YAML-104]: unknown from "reslt" (did you mean "result"? available: file, output, result, or tool:<name>)`,
			`p.yaml:3:63: error[AP-YAML-101]: schema must be a JSON Schema, or the path of one, not a number`,
			`p.yaml:3:75: error[AP-YAML-102]: verdict has no field (add field:)`,
			`p.yaml:3:88: error[AP-YAML-104]: unknown outcome "succes" (did you mean "success"? available: budget, error, escalate, fail, reject, retry, skip, success, timeout)`,
			`p.yaml:3:96: error[AP-YAML-102]: "fail" has no outcome (write the outcome)`,
			`p.yaml:3:126: error[AP-YAML-216]: kernel_fields name unknown check "test" (did you mean "tests"?)`,
			`p.yaml:3:149: error[AP-YAML-216]: a check has no "fialed" (did you mean "failed"? available: counts, exit_code, failed, ok, output, passed, reason, total)`,
			`p.yaml:3:173: error[AP-YAML-216]: "tests" is not a value of a check (write checks.<id of a check>.counts, exit_code, failed, ok, output, passed, reason or total)`,
			`p.yaml:4:59: error[AP-YAML-214]: schema: $.properties.a.typ: unknown keyword "typ" (did you mean "type"?)`,
			`p.yaml:4:96: error[AP-YAML-102]: verdict has no map (map values to outcomes: map: {pass: success, fail: fail})`,
			`p.yaml:5:41: error[AP-YAML-214]: schema "nowhere.yaml": the file cannot be read: no such file or directory (the path is relative to the directory of this file)`,
			`p.yaml:6:32: error[AP-YAML-102]: artifact in node "d" is empty (add type: or schema:, or remove the key)`,
		}},
		"a schema that is none": {file("nodes:", "- {id: a, prompt: x, artifact: {schema: {properties: {b: {type: text}}, required: b}}}"), []string{
			`p.yaml:3:59: error[AP-YAML-214]: schema: $.properties.b.type: matches none of the alternatives: must be one of "array", "boolean", "integer", "null", "number", "object", "string", not "text"; must be array, not "text"`,
			`p.yaml:3:73: error[AP-YAML-214]: schema: $.required: must be array, not "b"`,
		}},
		"termination checks": {file("nodes:", "- {id: a, prompt: x, termination: {type: checks, max: 3}}", "- {id: b, prompt: x, termination: {type: checks}, checks: [{id: c, type: file}]}",
			"- {id: c, prompt: x, termination: {type: checks, max: 2}, checks: [{id: c, type: file, at: enter}]}", "- {id: d, prompt: x, artifact: {type: t}}",
			"- {id: e, prompt: x, runs: 2, steps: {from: d, path: t}, termination: {type: checks}, checks: [{id: c, type: file}]}", "- {id: f, prompt: x, runs: 2, termination: {type: checks}, checks: [{id: c, type: file}]}"), []string{
			`p.yaml:3:42: error[AP-YAML-102]: node "a" ends when its checks pass, but has no exit check (add checks: to the node)`,
			`p.yaml:4:42: error[AP-YAML-102]: termination checks of node "b" has no max (add max: the most iterations)`,
			`p.yaml:5:42: error[AP-YAML-102]: node "c" ends when its checks pass, but has no exit check (add checks: to the node)`,
			`p.yaml:7:78: error[AP-YAML-107]: node "e" cannot end by checks: they run after all of its steps, not inside one (write type: fixed, which holds for each step)`,
		}},
		"where they stand": {file("nodes:", "- id: b", "  artifact: {type: t}", "  checks: [{id: a, type: file}]", "  steps: {from: a, path: b}", "  transitions: {fail: done}", "  parallel:", "    providers: [mock]",
			"    stages: [{id: s, prompt: x, artifact: {type: t}, checks: [{id: c, type: file, path: a}], transitions: {fail: s}, steps: {from: a, path: b}}]"), []string{
			`p.yaml:4:3: error[AP-YAML-107]: node "b" cannot have artifact: each provider's stage makes its own (write it on the stages of the block)`,
			`p.yaml:5:3: error[AP-YAML-107]: node "b" cannot have checks: they measure the work of a stage (write them on the stages of the block)`,
			`p.yaml:6:3: error[AP-YAML-107]: node "b" cannot have steps: its stages run as they are listed (write them on a node with a stage of its own)`,
			`p.yaml:10:94: error[AP-YAML-107]: stage "s" of block "b" cannot have transitions: edges lead from node to node (write them on the block)`,
			`p.yaml:10:118: error[AP-YAML-107]: stage "s" of block "b" cannot have steps: a block runs its stages as they are listed (make it a node of its own)`,
		}},
		"policies": {file("guardrails: {max_runtime_seconds: 60}", "policy:", "  timeout: 61", "  context: all", "  retry: {step: 0, stage: 2, on_stage_retry: never}", "  escalation: {on_limit: stop}",
			"  budget: {total: much, shares: {a: 60, b: 41, c: 101}}", "  cost: {max_usd: 1, warn_usd: 2, reserve_usd: 3, max_tokens: 10, reserve_tokens: 11}", "nodes:",
			"- {id: a, prompt: x, policy: {budget: {shares: {a: 1}}, cost: {max_usd: 0, max_usd_day: 1}}}"), []string{
			`p.yaml:4:12: error[AP-YAML-107]: policy.timeout is 61 seconds, and guardrails.max_runtime_seconds, which means the same, is 60 (keep one of the two)`,
			`p.yaml:5:12: error[AP-YAML-104]: unknown context "all" (available: focused, full, minimal, summary)`,
			`p.yaml:6:17: error[AP-YAML-103]: step must be at least 1, not 0`,
			`p.yaml:6:46: error[AP-YAML-104]: unknown on_stage_retry "never" (available: renew, single)`,
			`p.yaml:7:26: error[AP-YAML-104]: unknown on_limit "stop" (available: abort, failed, pause)`,
			`p.yaml:8:19: error[AP-YAML-104]: unknown total "much" (write a number of tokens, or model)`,
			`p.yaml:8:33: error[AP-YAML-103]: the shares add up to 101 percent, more than 100`,
			`p.yaml:8:41: error[AP-YAML-218]: shares name unknown node "b" (did you mean "a"?)`,
			`p.yaml:8:48: error[AP-YAML-218]: shares name unknown node "c" (did you mean "a"?)`,
			`p.yaml:8:51: error[AP-YAML-103]: c must be at most 100, not 101`,
			`p.yaml:9:32: error[AP-YAML-103]: warn_usd is more than max_usd: the run would end before it warns (at most 1)`,
			`p.yaml:9:48: error[AP-YAML-103]: reserve_usd is more than max_usd: no attempt could begin (at most 1)`,
			`p.yaml:9:83: error[AP-YAML-103]: reserve_tokens is more than max_tokens: no attempt could begin (at most 10)`,
			`p.yaml:11:39: error[AP-YAML-102]: budget has no total (add total: a number of tokens, or model)`,
			`p.yaml:11:40: error[AP-YAML-107]: shares divide the budget of a pipeline among its nodes (write them in the pipeline's policy)`,
			`p.yaml:11:73: error[AP-YAML-103]: max_usd must be more than 0, not 0 (leave the key out for no limit)`,
			`p.yaml:11:76: warning[AP-YAML-301]: unknown key "max_usd_day" in cost is ignored`,
		}},
		"no fault": {file("nodes:", planNode, "- {id: work, prompt: x, steps: {from: plan, path: 'tasks[*].steps[*]'}, transitions: {timeout: retry}}",
			"- {id: verify, prompt: x, policy: {required: true}, transitions: {fail: {to: work, limit: 10}, reject: plan, success: done}}"), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, tt.yaml, nil)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

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
	_, err = compilePlan(t, file("nodes: [{id: a, pipeline: in.yaml}, {id: b, pipeline: in.yaml}]"), compile.Overrides{}, map[string]string{
		"in.yaml": "name: in\nnodes: [{id: c, prompt: x, checks: [{id: t, type: command, run: '${COMMANDS.}'}]}]\n",
	})
	if want := `in.yaml:2:65: error[AP-YAML-217]: unknown command "" in ${COMMANDS.} (none is available; name it under commands: in .claude/config.yaml, or by --command)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
	if diff := cmp.Diff(want, r.Plan.Nodes[0].Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	warnings := []string{
		`p.yaml:4:99: warning[AP-YAML-310]: check "b" is left out: there is no command "build" (name it: commands: {build: …} in .claude/config.yaml, or --command build='…')`,
		`p.yaml:4:170: warning[AP-YAML-310]: check "l" is left out: there is no command "lint" (name it: commands: {lint: …} in .claude/config.yaml, or --command lint='…')`,
	}
	if diff := cmp.Diff(strings.Join(warnings, "\n"), r.Warnings.Error()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// U113: the overrides of the graph are checked and kept in the plan.
func TestFlowOverrides(t *testing.T) {
	text := file("nodes:", planNode, "- {id: work, prompt: x, steps: {from: plan, path: t}}", "- {id: verify, prompt: x, policy: {required: true}}", "- {id: sub, pipeline: sub.yaml}",
		"- {id: gate, prompt: x, transitions: {skip: done}}", "- {id: last, prompt: x}")
	others := map[string]string{"sub.yaml": "name: sub\nnodes: [{id: inner, prompt: x, policy: {required: true}}, {id: deep, prompt: x}]\n"}
	p := must(compilePlan(t, text, compile.Overrides{Skip: []string{"last"}, Timeouts: map[string]time.Duration{"deep": 90 * time.Second}, MaxCycles: 2}, others))
	want := &plan.Overrides{Skip: []string{"last"}, Timeouts: map[string]float64{"deep": 90}, MaxCycles: 2}
	if diff := cmp.Diff(want, p.Pipeline.Overrides); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
	for name, tt := range map[string]struct {
		over compile.Overrides
		want []string
	}{
		"required":       {compile.Overrides{Skip: []string{"verify"}}, []string{`--skip: error[AP-YAML-213]: node "verify" cannot be skipped: it is required (remove required from its policy to allow skipping it)`}},
		"required below": {compile.Overrides{Skip: []string{"sub"}}, []string{`--skip: error[AP-YAML-213]: node "sub" cannot be skipped: "inner" inside is required (remove required from its policy to allow skipping it)`}},
		"unknown":        {compile.Overrides{Skip: []string{"verfy", "deep"}}, []string{`--skip: error[AP-YAML-218]: --skip names unknown node "deep" (available: gate, last, plan, sub, verify, work)`, `--skip: error[AP-YAML-218]: --skip names unknown node "verfy" (did you mean "verify"? available: gate, last, plan, sub, verify, work)`}},
		"steps":          {compile.Overrides{Skip: []string{"plan"}}, []string{`--skip: error[AP-YAML-107]: node "plan" cannot be skipped: "work" takes its steps from it (skip that node, too, or give the artifact: --artifact plan=FILE)`}},
		"timeout":        {compile.Overrides{Timeouts: map[string]time.Duration{"dep": time.Second, "last": -time.Second}}, []string{`--timeout: error[AP-YAML-103]: the timeout of node "last" must be more than 0 seconds, not -1 (leave it out to use the timeout of the files)`, `--timeout: error[AP-YAML-218]: --timeout names unknown node "dep" (did you mean "deep"? available: deep, gate, inner, last, plan, sub, verify, work)`}},
		"cycles":         {compile.Overrides{MaxCycles: 11}, []string{`--max-cycles: error[AP-YAML-103]: the limit of cycles must be from 1 to 10, not 11`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compilePlan(t, text, tt.over, others)
			if err == nil {
				t.Fatal("no fault")
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
	for _, to := range []string{"a", "b", "retry", "pause"} {
		_, err := compilePlan(t, file("nodes:", "- {id: a, prompt: x}", "- {id: b, prompt: x, transitions: {skip: "+to+"}}"), compile.Overrides{Skip: []string{"b"}}, nil)
		if want := `--skip: error[AP-YAML-107]: node "b" cannot be skipped: its edge for skip leads to "` + to + `", which would skip it again (remove the edge, or point it forward)`; err == nil || err.Error() != want {
			t.Errorf("skip: %s: got %v, want %s", to, err, want)
		}
	}
	_, err := compilePlan(t, file("nodes:", "- {id: a, prompt: x, transitions: {skip: c}}", "- {id: b, prompt: x, policy: {required: true}}", "- {id: c, prompt: x}"), compile.Overrides{Skip: []string{"a"}}, nil)
	if err == nil || !strings.Contains(err.Error(), `--skip: error[AP-YAML-213]: required node "b" is left out on the path a → c → done`) {
		t.Errorf("a way around: %v", err)
	}
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stages[".claude/stages/deliver/stage.yaml"] = "checks: [{type: file}, {id: t, type: command, run: '${COMMANDS.tset}'}]"
	_, err := compilePlan(t, file("nodes:", "- {id: a, stage: deliver}"), compile.Overrides{}, stages)
	if err == nil || !strings.Contains(err.Error(), `.claude/stages/deliver/stage.yaml:1:10: error[AP-YAML-102]: check 1 of the stage deliver has no id`) ||
		!strings.Contains(err.Error(), `unknown command "tset"`) {
		t.Errorf("faults: %v", err)
	}
}
