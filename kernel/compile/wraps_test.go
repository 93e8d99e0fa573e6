package compile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// U027: faults of wraps are reported with position and hint.
func TestWrapsDiagnostics(t *testing.T) {
	stages := map[string]string{
		"both":    "wraps: {pipeline: p, run: cat}\n",
		"neither": "wraps: {defaults: {a: 1}}\n",
		"prompts": "wraps: {run: cat}\nprompt: prompt.md\n",
		"repeats": "wraps: {run: cat}\ntermination: {type: judgment}\nruns: 3\nmodel: opus\n",
		"asks":    "wraps: {run: cat}\nartifact: {type: x, from: output}\n",
		"judges":  "wraps: {pipeline: p}\nartifact: {verdict: {field: a, map: {b: success}}}\n",
		"good":    "wraps: {run: cat}\n",
	}
	const head = "name: x\nnodes:\n"
	for name, tt := range map[string]struct {
		node string
		want []string
	}{
		"a command":          {"  - {id: a, wraps: {run: cat}}\n", nil},
		"both":               {"  - {id: a, wraps: {run: cat, pipeline: p}}\n", []string{`p.yaml:3:21: error[AP-YAML-107]: wraps of node "a" has pipeline and run (make two nodes of it)`, `p.yaml:3:41: error[AP-YAML-207]: pipelines embed each other in a circle: p.yaml → p.yaml (remove one of these nodes)`}},
		"neither":            {"  - {id: a, wraps: {input_mapping: {x: y}}}\n", []string{`p.yaml:3:20: error[AP-YAML-102]: wraps of node "a" has neither a pipeline nor a command (add pipeline: <name>, or run: <command>)`}},
		"no map":             {"  - {id: a, wraps: cat}\n", []string{`p.yaml:3:20: error[AP-YAML-101]: wraps must be a map, not text`}},
		"an unknown key":     {"  - {id: a, wraps: {run: cat, input_maping: {x: y}}}\n", []string{`p.yaml:3:31: error[AP-YAML-301]: unknown key "input_maping" in wraps of node "a" (did you mean "input_mapping"? available: defaults, input_mapping, output_mapping, pipeline, run)`}},
		"no pipeline":        {"  - {id: a, wraps: {pipeline: nosuch}}\n", []string{`p.yaml:3:31: error[AP-YAML-206]: unknown pipeline "nosuch" (searched nosuch, .claude/pipelines/nosuch, .claude/pipelines/nosuch.yaml, nosuch.yaml, scripts/pipelines/nosuch, scripts/pipelines/nosuch.yaml, the shipped pipelines)`}},
		"work of its own":    {"  - {id: a, wraps: {run: cat}, prompt: x, steps: {from: b, path: c}}\n", []string{`p.yaml:3:32: error[AP-YAML-107]: node "a" cannot have prompt: the wrapped target is its work (make two nodes of it)`, `p.yaml:3:43: error[AP-YAML-107]: node "a" cannot have steps: the wrapped target is its work (make two nodes of it)`}},
		"beside a pipeline":  {"  - {id: a, wraps: {run: cat}, pipeline: x}\n", []string{`p.yaml:3:32: error[AP-YAML-107]: node "a" cannot have pipeline: the wrapped target is its work (make two nodes of it)`}},
		"beside a block":     {"  - {id: a, wraps: {run: cat}, parallel: {providers: [mock], stages: [{id: b, prompt: x}]}}\n", []string{`p.yaml:3:32: error[AP-YAML-107]: node "a" cannot have parallel: the wrapped target is its work (make two nodes of it)`}},
		"iterations":         {"  - {id: a, wraps: {run: cat}, runs: 2, termination: {type: judgment}, consensus: 2}\n", []string{`p.yaml:3:32: error[AP-YAML-107]: node "a" cannot have runs: the wrapped target runs once (let an edge lead back to the node, or repeat inside of the wrapped target)`, `p.yaml:3:41: error[AP-YAML-107]: node "a" cannot have termination: the wrapped target runs once (let an edge lead back to the node, or repeat inside of the wrapped target)`, `p.yaml:3:72: error[AP-YAML-107]: node "a" cannot have consensus: the wrapped target runs once (let an edge lead back to the node, or repeat inside of the wrapped target)`}},
		"a model":            {"  - {id: a, wraps: {run: cat}, provider: codex, model: m}\n", []string{`p.yaml:3:32: warning[AP-YAML-303]: provider has no effect on a node that wraps something (remove it)`, `p.yaml:3:49: warning[AP-YAML-303]: model has no effect on a node that wraps something (remove it)`}},
		"an artifact's ways": {"  - {id: a, wraps: {run: cat}, artifact: {type: x, from: output}}\n", []string{`p.yaml:3:52: warning[AP-YAML-303]: from has no effect on a node that wraps something (remove it)`}},
		"targets": {"  - {id: a, wraps: {run: cat, output_mapping: {a: x, b: x, c: p.q, d: _metadata, e: [1]}}}\n", []string{
			`p.yaml:3:54: error[AP-YAML-106]: outputs "a" and "b" both become x (give each its own field)`,
			`p.yaml:3:63: error[AP-YAML-105]: output "c" cannot become "p.q": a field name has no dot (write the name of a field: c: q)`,
			`p.yaml:3:71: error[AP-YAML-105]: output "d" cannot become _metadata, which every artifact has (choose another name)`,
			`p.yaml:3:85: error[AP-YAML-101]: e must be the name of a field, not a list`,
		}},
		"a name that is taken":  {"  - {id: a, wraps: {run: cat, output_mapping: {a: b, b: ~}}}\n", []string{`p.yaml:3:54: error[AP-YAML-106]: outputs "a" and "b" both become b (give each its own field)`}},
		"sources":               {"  - {id: a, wraps: {run: cat, input_mapping: {a: ~, b: {}, \"\": c}}}\n", []string{`p.yaml:3:47: error[AP-YAML-102]: input "a" has no field (write the field of the artifact, such as a: a)`, `p.yaml:3:56: error[AP-YAML-101]: b must be the name of a field, not a map`, `p.yaml:3:60: error[AP-YAML-102]: input_mapping has an entry without a name (name a field)`}},
		"no mapping":            {"  - {id: a, wraps: {run: cat, input_mapping: [a], defaults: 3}}\n", []string{`p.yaml:3:46: error[AP-YAML-101]: input_mapping must be a map, not a list`, `p.yaml:3:61: error[AP-YAML-101]: defaults must be a map, not a number`}},
		"no plain data":         {"  - {id: a, wraps: {run: cat, defaults: {a: .nan, b: !x 1}}}\n", []string{`p.yaml:3:45: error[AP-YAML-007]: ".nan" is not a finite number or boolean (put it in quotes if it is text)`, `p.yaml:3:54: error[AP-YAML-007]: tag !x is not supported (remove the tag)`}},
		"an unknown command":    {"  - {id: a, wraps: {run: \"x ${COMMANDS.go}\"}}\n", []string{`p.yaml:3:26: error[AP-YAML-217]: unknown command "go" in ${COMMANDS.go} (none is available; name it under commands: in .claude/config.yaml, or by --command)`}},
		"in a block":            {"  - {id: a, parallel: {providers: [mock], stages: [{id: b, wraps: {run: cat}}, {id: c, stage: good}]}}\n", []string{`p.yaml:3:67: error[AP-YAML-107]: stage "b" of block "a" cannot wrap anything: the block's providers run its stages (make it a node of its own)`, `p.yaml:3:95: error[AP-YAML-107]: stage "c" of block "a" cannot wrap anything: the block's providers run its stages (make it a node of its own)`}},
		"an unknown stage":      {"  - {id: a, stage: goood, wraps: {run: cat}}\n", []string{`p.yaml:3:20: error[AP-YAML-201]: unknown stage "goood" (did you mean "good"? searched .claude/stages/goood/stage.yaml, stages/goood/stage.yaml, scripts/stages/goood/stage.yaml, the shipped stages)`}},
		"checks of a pipeline":  {"  - {id: a, wraps: {pipeline: q}, checks: [{id: c, type: file, path: x}]}\n", []string{`p.yaml:3:31: error[AP-YAML-206]: unknown pipeline "q" (did you mean "p"? searched q, .claude/pipelines/q, .claude/pipelines/q.yaml, q.yaml, scripts/pipelines/q, scripts/pipelines/q.yaml, the shipped pipelines)`, `p.yaml:3:35: error[AP-YAML-107]: node "a" cannot have checks: the nodes of the pipeline do the work (write it in the pipeline, on the node that does the work)`}},
		"the provider by name":  {"  - {id: a, prompt: x, provider: command}\n", []string{`p.yaml:3:34: error[AP-YAML-203]: provider command runs wrapped commands and reads no prompts (write wraps: {run: …} on a node, or name another provider)`}},
		"a stage with both":     {"  - {id: a, stage: both}\n", []string{`library:stages/both/stage.yaml:1:19: error[AP-YAML-207]: pipelines embed each other in a circle: p.yaml → p.yaml (remove one of these nodes)`, `library:stages/both/stage.yaml:1:22: error[AP-YAML-107]: wraps of the file has pipeline and run (make two nodes of it)`}},
		"a stage with neither":  {"  - {id: a, stage: neither}\n", []string{`library:stages/neither/stage.yaml:1:8: error[AP-YAML-102]: wraps of the file has neither a pipeline nor a command (add pipeline: <name>, or run: <command>)`}},
		"a stage with a prompt": {"  - {id: a, stage: prompts}\n", []string{`library:stages/prompts/stage.yaml:2:1: error[AP-YAML-107]: the file cannot have prompt: the wrapped target is its work (remove one of the two)`}},
		"a stage that repeats": {"  - {id: a, stage: repeats}\n", []string{
			`library:stages/repeats/stage.yaml:2:1: error[AP-YAML-107]: the file cannot have termination: the wrapped target runs once (let an edge of a pipeline lead back to it, or repeat inside of the wrapped target)`,
			`library:stages/repeats/stage.yaml:3:1: error[AP-YAML-107]: the file cannot have runs: the wrapped target runs once (let an edge of a pipeline lead back to it, or repeat inside of the wrapped target)`,
			`library:stages/repeats/stage.yaml:4:1: warning[AP-YAML-303]: model has no effect on a stage that wraps something (remove it)`,
		}},
		"a verdict":             {"  - {id: a, stage: judges}\n", []string{`library:stages/judges/stage.yaml:1:19: error[AP-YAML-207]: pipelines embed each other in a circle: p.yaml → p.yaml (remove one of these nodes)`, `library:stages/judges/stage.yaml:2:12: error[AP-YAML-107]: artifact cannot have verdict: the pipeline has ended by then (write the verdict on a node of the pipeline, or on a later node)`}},
		"a stage that is asked": {"  - {id: a, stage: asks}\n", []string{`library:stages/asks/stage.yaml:2:21: warning[AP-YAML-303]: from has no effect on a stage that wraps something (remove it)`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := diagnose(t, head+tt.node, stages)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// A stage with wraps has no input if it runs alone. A validation accepts it.
func TestWrappingStageAlone(t *testing.T) {
	req := compile.Request{
		Roots:   sources.Roots{Project: t.TempDir(), Library: library(map[string]string{"good": "wraps: {run: cat}\n", "bad": "wraps: {}\n"})},
		Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	_, err := compile.Stage(req, compile.Loop{Stage: "good"})
	var found yamldoc.Diagnostics
	if !errors.As(err, &found) || len(found) != 1 || found[0].String() !=
		`library:stages/good/stage.yaml:1:1: error[AP-YAML-107]: stage "good" wraps a command, and cannot run alone (use it in a pipeline, nodes: [{id: good, stage: good}], and run that)` {
		t.Errorf("%v", err)
	}
	dir := must(req.FindStage("good", ""))
	p, found := compile.CheckStage(req, dir, compile.Loop{Stage: "good"})
	if len(found) > 0 || p == nil || !p.Nodes[0].WrapsCommand() {
		t.Errorf("%+v, %v", p, found)
	}
}
