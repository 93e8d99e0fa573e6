package compile_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// U140, U141: faults of requires and skip_when.
func TestRequiresFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml   string
		stages map[string]string
		want   []string
	}{
		"edges for skip": {file("nodes:", planNode, "- {id: b, prompt: x, skip_when: done, transitions: {skip: plan}}", "- {id: c, prompt: x, skip_when: done, transitions: {skip: pause}}", "- {id: d, prompt: x, skip_when: done, transitions: {skip: done}}"), nil, []string{
			`p.yaml:4:59: error[AP-YAML-107]: node "b" has skip_when, and its edge for skip leads to "plan" (point it forward, or remove it: skip leads to the next node)`,
			`p.yaml:5:59: error[AP-YAML-107]: node "c" has skip_when, and its edge for skip leads to "pause" (point it forward, or remove it: skip leads to the next node)`,
		}},
		"words": {file("nodes:", planNode, "- {id: b, prompt: x, requires: {plan: goal, '*': [[a], a..b, goal, goal], plam: [goal], $inptu: [x]}}", "- {id: c, prompt: x, requires: plan, skip_when: [x]}"), nil, []string{
			`p.yaml:4:39: error[AP-YAML-101]: plan must be a list, not text`,
			`p.yaml:4:51: error[AP-YAML-101]: a field in * must be text, not a list`,
			`p.yaml:4:56: error[AP-YAML-104]: "a..b" is not a field name (write its name, or names with dots between them, as in overview.goals)`,
			`p.yaml:4:68: warning[AP-YAML-303]: field "goal" is repeated in * (remove it)`,
			`p.yaml:4:75: error[AP-YAML-218]: requires names unknown node "plam" (did you mean "plan"? available: $input, *, b, c, plan)`,
			`p.yaml:4:89: error[AP-YAML-218]: requires names unknown node "$inptu" (did you mean "$input"? available: $input, *, b, c, plan)`,
			`p.yaml:5:32: error[AP-YAML-101]: requires must be a map, not text`,
			`p.yaml:5:49: error[AP-YAML-101]: skip_when must be text, not a list`,
		}},
		"no way from there": {file("nodes:", planNode, "- {id: b, prompt: x, requires: {b: [x], c: [x], d: [x], plan: [x]}, artifact: {type: t}}",
			"- {id: c, prompt: x, artifact: {type: t}, transitions: {fail: b}}", "- {id: d, prompt: x, artifact: {type: t}}"), nil, []string{
			`p.yaml:4:49: warning[AP-YAML-303]: the requirement of "d" has no effect: no path leads from there to "b" (remove it, or let an edge lead here)`,
		}},
		"nothing to demand": {file("nodes:", "- {id: a, prompt: x}", "- {id: b, prompt: x, requires: {a: [x]}}"), nil, []string{
			`p.yaml:4:33: warning[AP-YAML-303]: the requirement of "a" has no effect: it has no artifact (give that node an artifact)`,
		}},
		"blocks": {
			file("nodes:", planNode, "- id: b", "  requires: {plan: [goal]}", "  skip_when: done", "  parallel:", "    providers: [mock]", "    stages: [{id: s, prompt: x, requires: {plan: [goal]}, skip_when: done}, {id: t, stage: careful}]"),
			map[string]string{"careful": "prompt: ../tick/prompt.md\nrequires: {plan: [goal]}\nskip_when: done\n"},
			[]string{
				`library:stages/careful/stage.yaml:1:9: error[AP-YAML-202]: stage "careful" has no prompt file; looked for ../tick/prompt.md, prompts/prompt.md, prompt.md (write stages/careful/prompt.md or set prompt:)`,
				`p.yaml:9:33: error[AP-YAML-107]: stage "s" of block "b" cannot have requires: the input artifact is checked before the block (write it on the block)`,
				`p.yaml:9:59: error[AP-YAML-107]: stage "s" of block "b" cannot have skip_when: a block is skipped as a whole (write it on the block)`,
				`p.yaml:9:92: warning[AP-YAML-303]: requires of the stage of stage "t" of block "b" has no effect inside a block (write it on the block)`,
				`p.yaml:9:92: warning[AP-YAML-303]: skip_when of the stage of stage "t" of block "b" has no effect inside a block (write it on the block)`,
			},
		},
		"artifacts": {file("nodes:", "- {id: a, prompt: x, artifact: {from: 'tool:', carry: a, defaults_from: {b: [c], d: e.}, heal: 6, max_bytes: 65M}}",
			"- {id: b, prompt: x, artifact: {from: 'tool:two words', carry: [a, a], defaults_from: [c], heal: 1.5, max_bytes: 0}}",
			"- {id: c, prompt: x, artifact: {type: t, heal: -1, max_bytes: much}}"), nil, []string{
			`p.yaml:3:39: error[AP-YAML-104]: "tool:" names no tool (write tool:<name>, as in tool:submit)`,
			`p.yaml:3:55: error[AP-YAML-101]: carry must be a list, not text`,
			`p.yaml:3:77: error[AP-YAML-101]: b must be text, not a list`,
			`p.yaml:3:85: error[AP-YAML-104]: "e." is not a field name (write its name, or names with dots between them, as in overview.goals)`,
			`p.yaml:3:96: error[AP-YAML-103]: heal must be at most 5, not 6`,
			`p.yaml:3:110: error[AP-YAML-103]: max_bytes must be from 1 to 64M, not 65M (leave the key out for 10 MiB; write larger data to separate files)`,
			`p.yaml:4:39: error[AP-YAML-104]: "tool:two words" names no tool (write tool:<name>, as in tool:submit)`,
			`p.yaml:4:68: warning[AP-YAML-303]: field "a" is repeated in carry (remove it)`,
			`p.yaml:4:87: error[AP-YAML-101]: defaults_from must be a map, not a list`,
			`p.yaml:4:98: error[AP-YAML-103]: heal must be a whole number up to 1000000000, not 1.5`,
			`p.yaml:4:114: error[AP-YAML-103]: max_bytes must be from 1 to 64M, not 0 (leave the key out for 10 MiB; write larger data to separate files)`,
			`p.yaml:5:48: error[AP-YAML-103]: heal must be at least 0, not -1`,
			`p.yaml:5:63: error[AP-YAML-101]: max_bytes must be a number of bytes, with an optional K or M, not text`,
		}},
		"expressions": {
			file("nodes:", "- {id: a, prompt: x, skip_when: 'all(questions, .priority == \"low\") && (a.b[0] > 1.5 || c == nil)'}",
				"- {id: b, prompt: x, skip_when: 'size(questions) == 0'}", "- id: c", "  stage: t", "  skip_when: |", "    done ==", "      = true"),
			map[string]string{"t": "prompt: ../tick/prompt\nskip_when: len(a)\n"},
			[]string{
				`library:stages/t/stage.yaml:1:9: error[AP-YAML-202]: stage "t" has no prompt file; looked for ../tick/prompt.md, ../tick/prompt, prompts/prompt.md, prompt.md (write stages/t/prompt.md or set prompt:)`,
				`library:stages/t/stage.yaml:2:12: error[AP-YAML-210]: a condition must be true or false (compare it with something)`,
				`p.yaml:4:34: error[AP-YAML-210]: a condition cannot call this (the functions are all, any, none and len)`,
				`p.yaml:7:14: error[AP-YAML-210]: line 2, column 3 of the condition: = is an assignment (write == to compare)`,
			},
		},
		"escalation": {file("policy: {escalation: {wait: 3, timeout: 0, poll: soon, on_timeout: done, more: 1}}", "nodes: [{id: a, prompt: x}]"), nil, []string{
			`p.yaml:2:29: error[AP-YAML-101]: wait must be true or false, not a number`,
			`p.yaml:2:41: error[AP-YAML-103]: timeout must be more than 0 seconds, not 0 (leave the key out for a day)`,
			`p.yaml:2:50: error[AP-YAML-101]: poll must be a number, not text`,
			`p.yaml:2:68: error[AP-YAML-104]: unknown on_timeout "done" (available: abort, failed, pause)`,
			`p.yaml:2:74: warning[AP-YAML-301]: unknown key "more" in escalation is ignored`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, tt.yaml, tt.stages)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// U154: a stage's file may have the whole contract. The keys of the node win, list by list and member by member.
func TestContractOfAStage(t *testing.T) {
	files := library(map[string]string{"s": "requires: {'*': [a], spec: [b.c], elsewhere: [d]}\nskip_when: a == 1\nartifact: {type: t, carry: [a], defaults_from: {x: a}, heal: 3, max_bytes: 2K, from: 'tool:submit'}\n"})
	files["stages/s/prompt.md"] = &fstest.MapFile{}
	dir := t.TempDir()
	writeFile(t, dir+"/p.yaml", []byte(file("nodes:", "- {id: spec, stage: s}",
		"- {id: own, stage: s, requires: {spec: [e], $input: [f]}, skip_when: a == 2, artifact: {carry: [b], heal: 0, max_bytes: 32000000}}")))
	req := compile.Request{
		Roots: sources.Roots{Project: dir, Library: files}, File: "p.yaml", Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	r, err := compile.Pipeline(req)
	if err != nil || len(r.Warnings) > 0 {
		t.Fatal(err, r)
	}
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
		if diff := cmp.Diff(want[i], plan.Node{Requires: n.Requires, SkipWhen: n.SkipWhen, Artifact: n.Artifact}); diff != "" {
			t.Errorf("node %s (-want +got):\n%s", n.ID, diff)
		}
	}
	alone, err := compile.Stage(req, compile.Loop{Stage: "s"})
	if err != nil || len(alone.Warnings) != 1 || alone.Warnings[0].String() != `library:stages/s/stage.yaml:2:12: warning[AP-YAML-303]: skip_when has no effect on a stage that runs alone: the command names it explicitly (use the stage in a pipeline)` {
		t.Fatal(err, alone)
	}
	if n := alone.Plan.Nodes[0]; n.SkipWhen != "" || len(n.Requires) != 3 || n.Artifact.MaxRetries() != 3 {
		t.Errorf("alone: %+v", n)
	}
}

// U149, U154: the schema of a shipped stage is in its directory, and faults have positions in the schema.
func TestSchemaOfAShippedStage(t *testing.T) {
	for name, tt := range map[string]struct {
		schema, text string
		want         []string
	}{
		"fits":         {"schema.yaml", "type: object\nproperties: {a: {$ref: '#/$defs/b'}}\n$defs: {b: {type: string}}\n", []string{}},
		"no such part": {"schema.yaml", "properties: {a: {$ref: '#/$defs/b'}}\n", []string{`library:stages/s/schema.yaml:1:18: error[AP-YAML-214]: schema: $.properties.a["$ref"]: $ref has no target: "#/$defs/b"`}},
		"elsewhere":    {"../t/schema.yaml", "", []string{`library:stages/s/stage.yaml:1:20: error[AP-YAML-214]: schema "../t/schema.yaml": the file is outside of the stage (the path is relative to the directory of this file)`}},
	} {
		t.Run(name, func(t *testing.T) {
			files := library(map[string]string{"s": "artifact: {schema: " + tt.schema + "}\n"})
			files["stages/s/prompt.md"] = &fstest.MapFile{}
			files["stages/s/schema.yaml"] = &fstest.MapFile{Data: []byte(tt.text)}
			dir := t.TempDir()
			writeFile(t, dir+"/p.yaml", []byte(file("nodes: [{id: a, stage: s}]")))
			_, err := compile.Pipeline(compile.Request{
				Roots: sources.Roots{Project: dir, Library: files}, File: "p.yaml", Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
			})
			got := []string{}
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
