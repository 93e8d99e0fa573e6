package compile_test

import (
	"testing"
)

// earlierBlock is the start of a pipeline with a block: stages a and b, providers claude and second.
const earlierBlock = "name: p\nnodes:\n- {id: seed, prompt: x}\n" +
	"- {id: gen, parallel: {providers: [claude, {name: codex, as: second}], stages: [{id: a, prompt: x}, {id: b, prompt: x}]}}\n"

// U009, U095, U106, D16, D29, D30: inputs of a node, of a stage in a block and of a provider can name other nodes.
func TestInputsOfBlocks(t *testing.T) {
	const cross = `error[AP-YAML-205]: Cross-provider dependencies within a parallel block are not supported. Split into sequential blocks.`
	node := func(inputs string) string { return earlierBlock + "- {id: n, prompt: x, inputs: {" + inputs + "}}\n" }
	stage := func(inputs string) string {
		return earlierBlock + "- id: rate\n  parallel:\n    providers: [claude]\n    stages:\n    - {id: c, prompt: x}\n    - {id: d, prompt: x, inputs: {" + inputs + "}}\n    - {id: e, prompt: x}\n"
	}
	provider := func(inputs string) string {
		return earlierBlock + "- id: rate\n  parallel:\n    providers: [{name: claude, inputs: {" + inputs + "}}]\n    stages: [{id: c, prompt: x}, {id: gen, prompt: x}]\n"
	}
	later := "- {id: after, parallel: {providers: [claude], stages: [{id: z, prompt: x}]}}\n"
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"a stage's id":             {node("from_parallel: a"), nil},
		"a map":                    {node("from_parallel: {stage: b, block: gen, providers: [second, claude], select: all}"), nil},
		"a list of both":           {node("from_parallel: [a, {stage: b}]"), nil},
		"an empty list":            {node("from_parallel: []"), nil},
		"from of a provider":       {provider("from: seed"), nil},
		"from in the block":        {stage("from: c"), nil},
		"from outside of it":       {stage("from: seed"), nil},
		"a stage of two blocks":    {earlierBlock + "- {id: twin, parallel: {providers: [claude], stages: [{id: a, prompt: x, inputs: {from_parallel: a}}]}}\n", nil},
		"a block's id as from":     {node("from: gen"), []string{`p.yaml:5:37: error[AP-YAML-205]: inputs.from names "gen", which is a parallel block (use from_parallel with one of its stages)`}},
		"a block's stage as from":  {node("from: b"), []string{`p.yaml:5:37: error[AP-YAML-205]: inputs.from names "b", which is a stage of a parallel block (use from_parallel: b)`}},
		"a later stage as from":    {stage("from: e"), []string{`p.yaml:10:41: error[AP-YAML-205]: inputs.from names "e", which does not run before this node (move that stage up, or use the output of an earlier one)`}},
		"itself as from":           {stage("from: d"), []string{`p.yaml:10:41: error[AP-YAML-205]: inputs.from names "d", which does not run before this node (move that stage up, or use the output of an earlier one)`}},
		"its own block as from":    {stage("from: rate"), []string{`p.yaml:10:41: error[AP-YAML-205]: inputs.from names "rate", which does not run before this node (move that node up, or use the output of an earlier one)`}},
		"nothing known as from":    {stage("from: sed"), []string{`p.yaml:10:41: error[AP-YAML-205]: inputs.from names unknown node "sed" (did you mean "seed"? available: c, seed)`}},
		"a provider's from inside": {provider("from: c"), []string{`p.yaml:7:47: error[AP-YAML-205]: inputs.from names "c", a stage of the block, for all of its stages (write it in the inputs of the stage that reads it)`}},

		"its own block":               {stage("from_parallel: c"), []string{`p.yaml:10:50: ` + cross}},
		"its own block, of itself":    {stage("from_parallel: {stage: d, providers: [claude]}"), []string{`p.yaml:10:58: ` + cross}},
		"its own block, named":        {stage("from_parallel: {stage: nosuch, block: rate}"), []string{`p.yaml:10:58: ` + cross}},
		"its own block, of providers": {provider("from_parallel: [b, {stage: c}]"), []string{`p.yaml:7:68: ` + cross}},
		"its own block, of the node": {earlierBlock + "- {id: rate, inputs: {from_parallel: c}, parallel: {providers: [claude], stages: [{id: c, prompt: x}]}}\n", []string{
			`p.yaml:5:14: warning[AP-YAML-303]: inputs has no effect on a parallel block (write it on the stages or the providers of the block)`,
			`p.yaml:5:38: ` + cross,
		}},
		"unknown stage":           {node("from_parallel: c"), []string{`p.yaml:5:46: error[AP-YAML-205]: from_parallel names unknown stage "c" (did you mean "a"? available: a, b)`}},
		"unknown stage of a map":  {stage("from_parallel: {stage: q}"), []string{`p.yaml:10:58: error[AP-YAML-205]: from_parallel names unknown stage "q" (did you mean "a"? available: a, b)`}},
		"unknown block":           {node("from_parallel: {stage: a, block: gem}"), []string{`p.yaml:5:64: error[AP-YAML-205]: from_parallel names unknown block "gem" (did you mean "gen"?)`}},
		"a block without it":      {node("from_parallel: {stage: c, block: gen}"), []string{`p.yaml:5:54: error[AP-YAML-205]: block "gen" has no stage "c" (did you mean "a"? available: a, b)`}},
		"a node for a block":      {node("from_parallel: {stage: a, block: seed}"), []string{`p.yaml:5:64: error[AP-YAML-205]: from_parallel names node "seed", which is not a parallel block (use inputs.from)`}},
		"a block for a stage":     {node("from_parallel: gen"), []string{`p.yaml:5:46: error[AP-YAML-205]: from_parallel names "gen", which is a block (name one of its stages: a, b)`}},
		"a node for a stage":      {node("from_parallel: seed"), []string{`p.yaml:5:46: error[AP-YAML-205]: from_parallel names node "seed", which is not a stage of a parallel block (use inputs.from)`}},
		"a later block's stage":   {node("from_parallel: z") + later, []string{`p.yaml:5:46: error[AP-YAML-205]: from_parallel names stage "z" of a block that does not run before this node (move that block up)`}},
		"a later block":           {node("from_parallel: {stage: a, block: after}") + later, []string{`p.yaml:5:64: error[AP-YAML-205]: from_parallel names "after", which does not run before this node (move that block up)`}},
		"unknown provider":        {node("from_parallel: {stage: a, providers: [claude, secnd, codex]}"), []string{`p.yaml:5:77: error[AP-YAML-205]: block "gen" has no provider "secnd" (did you mean "second"? available: claude, second)`, `p.yaml:5:84: error[AP-YAML-205]: block "gen" has no provider "codex" (available: claude, second)`}},
		"no providers":            {node("from_parallel: {stage: a, providers: []}"), []string{`p.yaml:5:68: error[AP-YAML-102]: providers of from_parallel is empty (leave the key out for all of them)`}},
		"providers of wrong type": {node("from_parallel: {stage: a, providers: [[claude]]}"), []string{`p.yaml:5:69: error[AP-YAML-101]: a provider must be text, not a list`}},
		"words": {node("from_parallel: {stag: a, select: newest}"), []string{
			`p.yaml:5:46: error[AP-YAML-102]: from_parallel has no stage (add stage:)`,
			`p.yaml:5:47: warning[AP-YAML-301]: unknown key "stag" in from_parallel is ignored (did you mean "stage"?)`,
			`p.yaml:5:64: error[AP-YAML-104]: unknown select "newest" (available: all, history, latest)`,
		}},
		"wrong types": {node("from_parallel: [~, [a], \"\", {stage: [a]}]"), []string{
			`p.yaml:5:47: error[AP-YAML-101]: from_parallel must be the id of a stage, a map, or a list of these, not null`,
			`p.yaml:5:50: error[AP-YAML-101]: from_parallel must be the id of a stage, a map, or a list of these, not a list`,
			`p.yaml:5:55: error[AP-YAML-102]: from_parallel names no stage (write the id of a stage)`,
			`p.yaml:5:67: error[AP-YAML-101]: stage must be text, not a list`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			compare(t, append([]string{}, tt.want...), diagnose(t, tt.yaml))
		})
	}
}
