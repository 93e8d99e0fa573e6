package lint_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U082, U122: what of the way through a pipeline compiles and is probably not meant.
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
			`.claude/pipelines/p.yaml:2:26: warning[AP-YAML-408]: free does not say what an attempt takes: the first one counts as all of max_usd (add reserve_usd:)`,
			`.claude/pipelines/p.yaml:4:53: warning[AP-YAML-407]: node "a" has no edge for checks that never pass: all its iterations are repeated, and then the user is asked (say where fail leads, in transitions)`,
			`.claude/pipelines/p.yaml:5:42: warning[AP-YAML-406]: node "b" never ends as error: what happens inside the pipeline is settled there (remove the edge)`,
			`.claude/pipelines/p.yaml:5:102: warning[AP-YAML-408]: free does not say what an attempt takes: the first one counts as all of max_usd (add reserve_usd:)`,
			`.claude/pipelines/p.yaml:7:17: warning[AP-YAML-406]: node "c" never ends as timeout: a block whose providers fail ends as fail (remove the edge)`,
			`.claude/pipelines/p.yaml:11:138: warning[AP-YAML-406]: the schema allows unsure for status, which means no outcome: such an artifact is refused (give each an outcome)`,
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
	compare(t, []string{`.claude/stages/judge/stage.yaml:2:104: warning[AP-YAML-406]: the schema allows unsure for status, which means no outcome: such an artifact is refused (give each an outcome)`}, got)
}
