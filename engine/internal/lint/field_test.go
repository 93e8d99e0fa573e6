package lint_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U140, U145: unknown fields, and defaults and tools without effect, are found before a run.
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
			`.claude/pipelines/p.yaml:4:43: warning[AP-YAML-409]: node "b" requires more of a, whose contract does not promise it: its schema does not require it, nor is it carried or measured (let its schema require it, or carry it on)`,
			`.claude/pipelines/p.yaml:4:61: warning[AP-YAML-409]: node "b" requires inner.other of a, whose contract does not promise it: its schema does not require it, nor is it carried or measured (let its schema require it, or carry it on)`,
			`.claude/pipelines/p.yaml:4:74: warning[AP-YAML-409]: node "b" requires both.x of a, whose contract does not promise it: its schema does not require it, nor is it carried or measured (let its schema require it, or carry it on)`,
			`.claude/pipelines/p.yaml:4:126: warning[AP-YAML-409]: node "b" requires none of a, whose contract does not promise it: its schema does not require it, nor is it carried or measured (let its schema require it, or carry it on)`,
		},
		"q": {
			`.claude/pipelines/q.yaml:4:68: warning[AP-YAML-412]: provider free offers no tool hand_in: node "b" hands its artifact over in another way (the artifact is looked for in file, result and output)`,
			`.claude/pipelines/q.yaml:4:98: warning[AP-YAML-410]: no node before makes the field "gaol" (did you mean "goal"?)`,
			`.claude/pipelines/q.yaml:4:130: warning[AP-YAML-410]: no node before makes the field "nothing" (if the run is given it, list it under requires: {$input: […]})`,
			`.claude/pipelines/q.yaml:4:155: warning[AP-YAML-411]: node "b" has defaults_from for when it is skipped, and does not say when that is (say when, with skip_when, or remove it)`,
			`.claude/pipelines/q.yaml:4:175: warning[AP-YAML-410]: no node before makes the field "goall" (did you mean "goal"?)`,
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
