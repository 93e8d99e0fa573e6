package compile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// FuzzPipeline compiles any pipeline file with any other file, used as a stage and as an embedded pipeline. It
// never panics, each diagnostic has a position inside of its file, and a plan survives its JSON.
func FuzzPipeline(f *testing.F) {
	files, err := filepath.Glob("testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		archive := must(txtar.ParseFile(file))
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".yaml") {
				f.Add(part.Data, []byte("termination: {type: judgment, max: 3}\nprompt: prompt\n"))
				f.Add([]byte("name: p\nnodes: [{id: a, stage: s}]\n"), part.Data)
				f.Add([]byte("name: p\nnodes: [{id: a, pipeline: sub.yaml, runs: 2}, {id: b, pipeline: sub.yaml}]\n"), part.Data)
			}
		}
	}
	f.Add([]byte("name: p\nnodes: [{id: a, pipeline: sub.yaml}]\n"), []byte("name: s\nnodes: [{id: a, pipeline: p.yaml}]\n"))
	f.Add([]byte(earlierBlock+"- {id: n, prompt: x, inputs: {from_parallel: [a, {stage: b, block: gen, providers: [second]}]}}\n"), []byte{})
	for _, policy := range []string{validApprovals, faultyApprovals} {
		f.Add([]byte("name: p\npolicy:\n"+policy+"nodes: [{id: a, stage: s}]\n"), []byte{})
	}
	for _, pipeline := range []string{agentLoop, edges} {
		f.Add([]byte(pipeline), []byte(contractStage))
		f.Add([]byte("name: p\nnodes: [{id: a, pipeline: sub.yaml}, {id: b, stage: s, steps: {from: a, path: x}, transitions: {fail: a}}]\n"), []byte(pipeline))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, pipeline, stage []byte) {
		file := filepath.Join(dir, "p.yaml")
		check(t, errors.Join(os.WriteFile(file, pipeline, 0o600), os.WriteFile(filepath.Join(dir, "sub.yaml"), stage, 0o600)))
		req := compile.Request{
			Roots: sources.Roots{Project: dir, Library: fstest.MapFS{
				"stages/s/stage.yaml": {Data: stage}, "stages/s/prompt.md": {},
			}},
			File: file, Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
		}
		texts := map[string][]byte{"p.yaml": pipeline, "sub.yaml": stage, "library:stages/s/stage.yaml": stage}
		result, err := compile.Pipeline(req)
		checkOutcome(t, result, err, texts)
		over := req
		over.Overrides = compile.Overrides{
			Start: "b", ExitAfter: "c", Skip: []string{"d"}, Supervised: true, Iterate: []string{"a"}, Timeout: time.Minute,
			Artifacts: map[string]string{"a": "a.yaml", "note": "note.yaml"},
		}
		result, err = compile.Pipeline(over)
		checkOutcome(t, result, err, texts)
		result, err = compile.Stage(req, compile.Loop{Stage: "s"})
		checkOutcome(t, result, err, texts)
	})
}

// agentLoop uses the newer keys in one pipeline, after the loop of DIALECT B3.
const agentLoop = `name: agent-loop
commands: {test: go test ./...}
guardrails: {max_runtime_seconds: 7200}
policy:
  timeout: 7200
  retry: {step: 3, stage: 2, backoff: [1, 2, 4], on_stage_retry: renew}
  cycles: {default: 3, max: 10, session: 30, identical: 2}
  budget: {total: model, shares: {plan: 40, execute: 30, verify: 15, review: 15}}
  escalation: {on_limit: pause}
  cost: {max_usd: 10.0, warn_usd: 5.0, reserve_usd: 1, max_tokens: 9, reserve_tokens: 2}
nodes:
  - id: plan
    stage: s
    policy: {context: full, timeout: 120}
    artifact:
      type: task_plan
      version: "1.0"
      schema:
        type: object
        required: [goal]
        properties: {goal: {type: string, minLength: 1}, tasks: {type: array, items: {$ref: "#/$defs/task"}}}
        $defs: {task: {enum: [1, 2, 3]}}
    transitions: {success: execute, escalate: pause}
  - id: execute
    prompt: x
    steps: {from: plan, path: "tasks[*].steps[*]", id: id, depends_on: depends_on, max_turns: 10, rerun: failed, retry_by: {RUN_COMMAND: 3}}
    transitions: {success: verify, timeout: retry}
  - id: verify
    prompt: x
    policy: {required: true}
    checks:
      - {id: tests, type: tests, run: "${COMMANDS.test}", expect: all_pass, timeout: 120, at: exit, files_from: a}
      - {id: lint, type: file_exists, path: x, at: enter}
    artifact: {schema: sub.yaml, from: result, kernel_fields: {n: checks.tests.counts}, verdict: {field: status, map: {pass: success, fail: fail}}}
    transitions:
      success: review
      fail: {to: execute, limit: 3, feedback: feedback, on_limit: pause}
  - id: review
    prompt: x
    termination: {type: checks, max: 3}
    checks: [{id: c, type: file, path: x}]
    transitions: {success: done, reject: {to: plan, limit: 3}}
`

// edges has edges between nodes of all kinds, some of them wrong.
const edges = `name: edges
nodes:
  - {id: a, prompt: x, transitions: {fail: c, success: b, skip: next, on: d}}
  - {id: b, pipeline: sub.yaml, transitions: {fail: {to: a, limit: 11}}}
  - id: c
    transitions: {fail: c, error: [x], timeout: {limit: 1}}
    parallel: {providers: [mock], stages: [{id: s, stage: s, artifact: {schema: {$ref: "#/x"}}, checks: [{id: "", run: "${COMMANDS.}"}]}]}
`

const contractStage = "termination: {type: checks, max: 2}\nprompt: prompt\nrole: planner\nrequires: {'*': [a], $input: [b.c], x: [d]}\nskip_when: none(questions, .priority == 'blocking')\n" +
	"artifact: {type: t, from: 'tool:t', schema: {type: object}, kernel_fields: {a: checks.tests.passed}, carry: [a, b.c], defaults_from: {x: a}, heal: 5, max_bytes: 64M}\n"

func checkOutcome(t *testing.T, result *compile.Result, err error, texts map[string][]byte) {
	t.Helper()
	if err != nil {
		var ds yamldoc.Diagnostics
		if !errors.As(err, &ds) || !ds.HasErrors() {
			t.Fatalf("an error without diagnostics: %v", err)
		}
		checkPlaces(t, ds, texts)
		return
	}
	if result.Warnings.HasErrors() {
		t.Fatalf("errors among the warnings: %v", result.Warnings)
	}
	checkPlaces(t, result.Warnings, texts)
	data, err := json.Marshal(result.Plan)
	if err != nil {
		t.Fatalf("the plan is no JSON: %v", err)
	}
	var back plan.Plan
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("the plan does not come back: %v\n%s", err, data)
	}
	again, err := json.Marshal(&back)
	if diff := cmp.Diff(string(data), string(again)); err != nil || diff != "" {
		t.Fatalf("the plan changes in JSON: %v (-want +got):\n%s", err, diff)
	}
}

func checkPlaces(t *testing.T, ds yamldoc.Diagnostics, texts map[string][]byte) {
	t.Helper()
	for _, d := range ds {
		if strings.HasPrefix(d.File, "--") && d.Line == 0 && d.Code != "" && d.Message != "" {
			continue // the file is a flag
		}
		text, known := texts[d.File]
		if lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 2; !known || d.Line < 1 || d.Line > lines || d.Column < 1 || d.Code == "" || d.Message == "" {
			t.Fatalf("a diagnostic without a place in a file of ours: %+v", d)
		}
	}
}
