package compile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// library returns one good stage and the stages of a test.
func library(stages map[string]string) fstest.MapFS {
	files := fstest.MapFS{
		"stages/tick/stage.yaml": {Data: []byte("name: tick\n")},
		"stages/tick/prompt.md":  {Data: []byte("go\n")},
	}
	for name, text := range stages {
		files["stages/"+name+"/stage.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// diagnose compiles text as p.yaml and returns the rendered faults or warnings.
func diagnose(t *testing.T, text string, stages map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte(text))
	result, err := compile.Pipeline(compile.Request{
		Roots: sources.Roots{Project: dir, Library: library(stages)}, File: "p.yaml", Session: "s",
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	})
	var found yamldoc.Diagnostics
	switch {
	case err == nil:
		found = result.Warnings
	case !errors.As(err, &found):
		t.Fatalf("the error is %T, want Diagnostics: %v", err, err)
	}
	lines := []string{}
	for _, d := range found {
		lines = append(lines, d.String())
	}
	return lines
}

func TestDiagnostics(t *testing.T) {
	deep := strings.Repeat("[", yamldoc.MaxDepth+1) + strings.Repeat("]", yamldoc.MaxDepth+1)
	tests := map[string]struct {
		yaml   string
		stages map[string]string
		want   []string
	}{
		"five different faults": {
			yaml: "description: x\nnodes:\n  - id: a\n    stage: tik\n  - id: a\n    stage: tick\n    provider: claud\n    runs: 0\n",
			want: []string{
				`p.yaml:1:1: error[AP-YAML-102]: the file has no name (add name:)`,
				`p.yaml:4:12: error[AP-YAML-201]: unknown stage "tik" (did you mean "tick"? searched .claude/stages/tik/stage.yaml, stages/tik/stage.yaml, scripts/stages/tik/stage.yaml, the shipped stages)`,
				`p.yaml:5:9: error[AP-YAML-106]: node id "a" is repeated, first in line 3 (give each node its own id)`,
				`p.yaml:7:15: error[AP-YAML-203]: unknown provider: claud (did you mean "claude"? available: claude, codex, mock)`,
				`p.yaml:8:11: error[AP-YAML-103]: runs must be at least 1, not 0`,
			},
		},
		"syntax":       {yaml: "name: [unclosed\nnodes:\n", want: []string{`p.yaml:2:1: error[AP-YAML-001]: did not find expected ',' or ']'`}},
		"not UTF-8":    {yaml: "name: caf\xe9\n", want: []string{`p.yaml:1:10: error[AP-YAML-002]: byte 0xe9 is not UTF-8 (save the file as UTF-8)`}},
		"tab":          {yaml: "name: x\nnodes:\n\t- id: a\n", want: []string{`p.yaml:3:1: error[AP-YAML-003]: a tab is used for indentation (indent with spaces)`}},
		"same key":     {yaml: "name: a\nnodes: []\nname: b\n", want: []string{`p.yaml:2:8: warning[AP-YAML-304]: the pipeline has no nodes and completes at once (add a node)`, `p.yaml:3:1: error[AP-YAML-004]: key "name" is repeated, first in line 1 (keep one of the two)`}},
		"documents":    {yaml: "name: a\nnodes: [{id: a, prompt: x}]\n---\nname: b\n", want: []string{`p.yaml:3:1: error[AP-YAML-005]: the file holds more than one YAML document (keep one document for each file)`}},
		"too large":    {yaml: strings.Repeat("#", yamldoc.MaxBytes+1), want: []string{`p.yaml:1:1: error[AP-YAML-006]: the file has 1048577 bytes, more than the 1048576 allowed (split the file or move long prompts into files)`}},
		"too deep":     {yaml: "name: a\nx-a: " + deep + "\nnodes: [{id: a, prompt: x}]\n", want: []string{`p.yaml:2:106: error[AP-YAML-006]: the document is nested more than 100 levels deep`}},
		"tag":          {yaml: "name: !secret a\nnodes: [{id: a, prompt: x}]\n", want: []string{`p.yaml:1:7: error[AP-YAML-007]: tag !secret is not supported (remove the tag)`}},
		"empty":        {yaml: "# nothing\n", want: []string{`p.yaml:1:1: error[AP-YAML-008]: the file is empty`}},
		"null":         {yaml: "~\n", want: []string{`p.yaml:1:1: error[AP-YAML-008]: the file is empty`}},
		"no map":       {yaml: "- a\n", want: []string{`p.yaml:1:1: error[AP-YAML-101]: the file must hold a map, not a list`}},
		"no nodes key": {yaml: "name: a\n", want: []string{`p.yaml:1:1: error[AP-YAML-102]: the file has no nodes (add nodes:)`}},
		"nothing but line ends": {
			yaml: "name: a\nhooks: {session_start: [{action: \"\\n\"}]}\nnodes:\n- {id: \"\\n\", prompt: x}\n- {id: b, pipeline: \"\\n\\n\"}\n- {id: c, stage: \"\\n\"}\n- {id: d, wraps: {pipeline: \"\\n\"}}\n",
			want: []string{
				`p.yaml:2:25: error[AP-YAML-102]: hook 1 of session_start has no action (add action:)`,
				`p.yaml:4:3: error[AP-YAML-102]: node 1 has no id (add id:)`,
				`p.yaml:5:3: error[AP-YAML-102]: node "b" has neither stage nor prompt (add stage:, prompt:, parallel:, pipeline: or wraps:)`,
				`p.yaml:6:3: error[AP-YAML-102]: node "c" has neither stage nor prompt (add stage:, prompt:, parallel:, pipeline: or wraps:)`,
				`p.yaml:7:18: error[AP-YAML-102]: wraps of node "d" has neither a pipeline nor a command (add pipeline: <name>, or run: <command>)`,
			},
		},
		"ignored keys have types, too": {
			yaml: "name: a\nnodes:\n- {id: a, parallel: {providers: [mock], stages: [{id: s, prompt: x}]}, runs: [], provider: [x], delay: soon, termination: fixed}\n- {id: b, pipeline: inner, model: {a: 1}, output_path: [x], consensus: many}\n",
			want: []string{
				`p.yaml:3:72: warning[AP-YAML-303]: runs has no effect on a parallel block (write it on the stages of the block)`,
				`p.yaml:3:78: error[AP-YAML-101]: runs must be a number, not a list`,
				`p.yaml:3:82: warning[AP-YAML-303]: provider has no effect on a parallel block (write it on the stages of the block)`,
				`p.yaml:3:92: error[AP-YAML-101]: provider must be text, not a list`,
				`p.yaml:3:97: warning[AP-YAML-303]: delay has no effect on a parallel block (write it on the stages of the block)`,
				`p.yaml:3:104: error[AP-YAML-101]: delay must be a number, not text`,
				`p.yaml:3:110: warning[AP-YAML-303]: termination has no effect on a parallel block (write it on the stages of the block)`,
				`p.yaml:3:123: error[AP-YAML-101]: termination must be a map, not text`,
				`p.yaml:4:21: error[AP-YAML-206]: unknown pipeline "inner" (searched inner, .claude/pipelines/inner, .claude/pipelines/inner.yaml, inner.yaml, scripts/pipelines/inner, scripts/pipelines/inner.yaml, the shipped pipelines)`,
				`p.yaml:4:28: warning[AP-YAML-303]: model has no effect on a node that runs a pipeline (write it in the pipeline)`,
				`p.yaml:4:35: error[AP-YAML-101]: model must be text, not a map (put the text in quotes if it holds a colon or braces)`,
				`p.yaml:4:43: warning[AP-YAML-303]: output_path has no effect on a node that runs a pipeline (write it in the pipeline)`,
				`p.yaml:4:56: error[AP-YAML-101]: output_path must be text, not a list`,
				`p.yaml:4:61: warning[AP-YAML-303]: consensus has no effect on a node that runs a pipeline (write it in the pipeline)`,
			},
		},
		"empty name": {yaml: "name: \"\"\nnodes: [{id: a, prompt: x}]\n", want: []string{`p.yaml:1:1: error[AP-YAML-102]: the file has no name (add name:)`}},
		"wrong types at the top": {
			yaml: "name: {a: b}\ndescription: [a]\ncommands: go\ninputs: a\ndefaults: claude\npolicy: strict\nnodes: a\n",
			want: []string{
				`p.yaml:1:7: error[AP-YAML-101]: name must be text, not a map (put the text in quotes if it holds a colon or braces)`,
				`p.yaml:2:14: error[AP-YAML-101]: description must be text, not a list`,
				`p.yaml:3:11: error[AP-YAML-101]: commands must be a map, not text`,
				`p.yaml:4:9: error[AP-YAML-101]: inputs must be a list, not text`,
				`p.yaml:5:11: error[AP-YAML-101]: defaults must be a map, not text`,
				`p.yaml:6:9: error[AP-YAML-101]: policy must be a map, not text`,
				`p.yaml:7:8: error[AP-YAML-101]: nodes must be a list, not text`,
			},
		},
		"wrong types in nodes": {
			yaml: "name: a\ninputs: [[x], ~]\nnodes:\n- text\n- {id: [a], prompt: x}\n- {id: b, stage: [x], runs: [1]}\n- {id: c, prompt: x, termination: fixed, inputs: b, delay: soon, runs: true}\n",
			want: []string{
				`p.yaml:2:10: error[AP-YAML-101]: an initial input must be text, not a list`,
				`p.yaml:2:15: error[AP-YAML-101]: an initial input must be text, not null`,
				`p.yaml:4:3: error[AP-YAML-101]: a node must be a map, not text`,
				`p.yaml:5:8: error[AP-YAML-101]: id must be text, not a list`,
				`p.yaml:6:18: error[AP-YAML-101]: stage must be text, not a list`,
				`p.yaml:6:29: error[AP-YAML-101]: runs must be a number, not a list`,
				`p.yaml:7:35: error[AP-YAML-101]: termination must be a map, not text`,
				`p.yaml:7:50: error[AP-YAML-101]: inputs must be a map, not text`,
				`p.yaml:7:60: error[AP-YAML-101]: delay must be a number, not text`,
				`p.yaml:7:72: error[AP-YAML-101]: runs must be a number, not a boolean`,
			},
		},
		"ids": {
			yaml: "name: a\nnodes:\n- {prompt: x}\n- {id: .., prompt: x}\n- {id: a/b, prompt: x}\n- {id: \"a\\u0007\", prompt: x}\n- {id: " + strings.Repeat("n", 129) + ", prompt: x}\n- {id: größe 1.0, prompt: x}\n",
			want: []string{
				`p.yaml:3:3: error[AP-YAML-102]: node 1 has no id (add id:)`,
				`p.yaml:4:8: error[AP-YAML-105]: node id ".." is not a directory name (ids become directory names)`,
				`p.yaml:5:8: error[AP-YAML-105]: node id "a/b" contains a slash (ids become directory names)`,
				`p.yaml:6:8: error[AP-YAML-105]: node id "a\a" contains a control character (ids become directory names)`,
				`p.yaml:7:8: error[AP-YAML-105]: node id "` + strings.Repeat("n", 129) + `" is too long (ids become directory names)`,
			},
		},
		"kinds of nodes": {
			yaml: "name: a\nnodes:\n- {id: a}\n- {id: b, stage: tick, pipeline: other}\n- {id: c, prompt: x, parallel: {}}\n- {id: d, pipeline: other, parallel: {}}\n- {id: e, stage: ../tick}\n- {id: f, parallel: [a]}\n- {id: g, pipeline: {a: b}}\n",
			want: []string{
				`p.yaml:3:3: error[AP-YAML-102]: node "a" has neither stage nor prompt (add stage:, prompt:, parallel:, pipeline: or wraps:)`,
				`p.yaml:4:24: error[AP-YAML-107]: node "b" cannot have pipeline beside stage or prompt (make two nodes of it)`,
				`p.yaml:5:22: error[AP-YAML-107]: node "c" cannot have parallel beside stage or prompt (make two nodes of it)`,
				`p.yaml:6:11: error[AP-YAML-107]: node "d" cannot have pipeline beside parallel (make two nodes of it)`,
				`p.yaml:7:18: error[AP-YAML-201]: unknown stage "../tick" (a stage name must not be empty and must not contain a slash)`,
				`p.yaml:8:21: error[AP-YAML-101]: parallel must be a map, not a list`,
				`p.yaml:9:21: error[AP-YAML-101]: pipeline must be text, not a map (put the text in quotes if it holds a colon or braces)`,
			},
		},
		"patterns of secrets": {
			yaml: "name: a\npolicy: {secrets: {patterns: ['acme-[0-9]+', 'x(', '', [a], 'y*'], more: 1}}\nnodes:\n- id: a\n  prompt: x\n  policy:\n    secrets:\n      patterns:\n      - '(?=z)'\n- {id: b, prompt: x, policy: {secrets: {patterns: a}}}\n",
			want: []string{
				`p.yaml:2:46: error[AP-YAML-220]: invalid pattern of a secret: missing closing ) (patterns are RE2: no look-around and no back references; write them in single quotes)`,
				`p.yaml:2:52: error[AP-YAML-220]: a pattern of a secret matches the empty text (write the prefix or the length of the secret)`,
				`p.yaml:2:56: error[AP-YAML-101]: a pattern in patterns must be text, not a list`,
				`p.yaml:2:61: error[AP-YAML-220]: a pattern of a secret matches the empty text (write the prefix or the length of the secret)`,
				`p.yaml:2:68: warning[AP-YAML-301]: unknown key "more" in secrets is ignored`,
				`p.yaml:9:9: error[AP-YAML-220]: invalid pattern of a secret: invalid or unsupported Perl syntax (patterns are RE2: no look-around and no back references; write them in single quotes)`,
				`p.yaml:10:51: error[AP-YAML-101]: patterns must be a list, not text`,
			},
		},
		"modes and tools": {
			yaml: "name: a\ndefaults: {provider: claude}\npolicy: {mode: airgaped, tools: {allowed_commands: go}}\nnodes:\n- id: a\n  prompt: x\n  policy: {mode: open, tools: {allowed_commands: [./go, [git], make], command_timeout: 0, max_result_tokens: 1.5, more: 1}}\n",
			want: []string{
				`p.yaml:3:16: error[AP-YAML-104]: unknown mode "airgaped" (did you mean "airgapped"? available: airgapped, burst, local-only, open)`,
				`p.yaml:3:52: error[AP-YAML-101]: allowed_commands must be a list, not text`,
				`p.yaml:7:12: error[AP-YAML-107]: mode applies to a whole pipeline (write it in the pipeline's policy)`,
				`p.yaml:7:51: error[AP-YAML-104]: "./go" is not the name of a program (write the name of a program, without a path or arguments)`,
				`p.yaml:7:57: error[AP-YAML-101]: a command in allowed_commands must be text, not a list`,
				`p.yaml:7:88: error[AP-YAML-103]: command_timeout must be more than 0 seconds, not 0 (leave the key out for the provider's own limit)`,
				`p.yaml:7:110: error[AP-YAML-103]: max_result_tokens must be a whole number up to 1000000000, not 1.5`,
				`p.yaml:7:115: warning[AP-YAML-301]: unknown key "more" in tools is ignored`,
			},
		},
		"a model elsewhere": { // K4
			yaml: "name: a\ndefaults: {provider: claude}\npolicy: {mode: local-only}\nnodes:\n- {id: a, prompt: x}\n- {id: b, prompt: x, provider: mock}\n- {id: c, prompt: x, provider: codex}\n- {id: d, parallel: {providers: [mock, claude], stages: [{id: e, prompt: x}]}}\n",
			want: []string{
				`p.yaml:2:22: error[AP-YAML-219]: provider claude uses a remote model, which mode local-only does not allow (use a provider with a local model, such as agent, or another mode)`,
				`p.yaml:7:32: error[AP-YAML-219]: provider codex uses a remote model, which mode local-only does not allow (use a provider with a local model, such as agent, or another mode)`,
				`p.yaml:8:40: error[AP-YAML-219]: provider claude uses a remote model, which mode local-only does not allow (use a provider with a local model, such as agent, or another mode)`,
			},
		},
		"inputs": {
			yaml: "name: a\nnodes:\n- {id: one, prompt: x}\n- {id: two, prompt: x, inputs: {from: on}}\n- {id: three, prompt: x, inputs: {from: three, select: newest}}\n- {id: four, prompt: x, inputs: {from: five, from_parallel: one, form: one}}\n- {id: five, prompt: x, inputs: {from: four, select: history}}\n",
			want: []string{
				`p.yaml:4:39: error[AP-YAML-205]: inputs.from names unknown node "on" (did you mean "one"?)`,
				`p.yaml:5:41: error[AP-YAML-205]: inputs.from names "three", which does not run before this node (move that node up, or use the output of an earlier one)`,
				`p.yaml:5:56: error[AP-YAML-104]: unknown select "newest" (available: all, history, latest)`,
				`p.yaml:6:40: error[AP-YAML-205]: inputs.from names "five", which does not run before this node (move that node up, or use the output of an earlier one)`,
				`p.yaml:6:61: error[AP-YAML-205]: from_parallel needs an earlier parallel block, and there is none (use inputs.from)`,
				`p.yaml:6:66: warning[AP-YAML-301]: unknown key "form" in inputs is ignored (did you mean "from"?)`,
			},
		},
		"numbers": {
			yaml: "name: a\nnodes:\n- {id: a, prompt: x, runs: 2.5, delay: -1}\n- {id: b, prompt: x, runs: -3}\n- {id: c, prompt: x, termination: {max: 0, iterations: x, min_iterations: 0, consensus: 0.5}}\n- {id: d, prompt: x, runs: 1e12}\n- {id: e, prompt: x, completion: plateau, consensus: none}\n- {id: f, prompt: x, delay: .inf}\n",
			want: []string{
				`p.yaml:3:28: error[AP-YAML-103]: runs must be a whole number up to 1000000000, not 2.5`,
				`p.yaml:3:40: error[AP-YAML-103]: delay must be at least 0 seconds, not -1`,
				`p.yaml:4:28: error[AP-YAML-103]: runs must be at least 1, not -3`,
				`p.yaml:5:41: error[AP-YAML-103]: max must be at least 1, not 0`,
				`p.yaml:5:56: error[AP-YAML-101]: iterations must be a number, not text`,
				`p.yaml:5:75: error[AP-YAML-103]: min_iterations must be at least 1, not 0`,
				`p.yaml:5:89: error[AP-YAML-103]: consensus must be at least 1, not 0.5`,
				`p.yaml:6:28: error[AP-YAML-103]: runs must be a whole number up to 1000000000, not 1e12`,
				`p.yaml:7:54: error[AP-YAML-101]: consensus must be a number, not text`,
				`p.yaml:8:29: error[AP-YAML-007]: ".inf" is not a finite number or boolean (put it in quotes if it is text)`,
			},
		},
		"termination words": {
			yaml: "name: a\nnodes:\n- {id: a, prompt: x, termination: {type: fixd}}\n- {id: b, prompt: x, completion: plateaux}\n- {id: c, stage: other}\n- {id: d, stage: other, termination: {type: fixed}}\n- {id: e, prompt: x, termination: {type: 7}}\n- {id: f, prompt: x, termination: {type: [a]}}\n",
			stages: map[string]string{
				"other": "prompt: ask\ntermination:\n  type: nosuch\n",
			},
			want: []string{
				`library:stages/other/stage.yaml:1:9: error[AP-YAML-202]: stage "other" has no prompt file; looked for ask.md, ask, prompts/ask.md, prompts/prompt.md, prompt.md (write stages/other/prompt.md or set prompt:)`,
				`library:stages/other/stage.yaml:3:9: error[AP-YAML-204]: unknown completion strategy: nosuch (available: checks, fixed, judgment, queue)`,
				`p.yaml:3:42: error[AP-YAML-204]: unknown completion strategy: fixd (did you mean "fixed"? available: checks, fixed, judgment, queue)`,
				`p.yaml:4:34: error[AP-YAML-104]: unknown completion "plateaux" (did you mean "plateau"? available: beads-empty, fixed-n, plateau)`,
				`p.yaml:7:42: error[AP-YAML-204]: unknown completion strategy: 7 (available: checks, fixed, judgment, queue)`,
				`p.yaml:8:42: error[AP-YAML-101]: type must be text, not a list`,
			},
		},
		"policy": {
			yaml: "name: a\npolicy: {timeout: 0, stage_timeout: -1, idle_timeout: x, recovery: rerum, env: [A=b], retry: {attempts: 0, backoff: [1, -1, x], tries: 1}, timeuot: 1}\nnodes:\n- {id: a, prompt: x, policy: {env: minimum, retry: 3}}\n- {id: b, prompt: x, policy: {env: 3, retry: {backoff: 3}}}\n",
			want: []string{
				`p.yaml:2:19: error[AP-YAML-103]: timeout must be more than 0 seconds, not 0 (leave the key out for no limit)`,
				`p.yaml:2:37: error[AP-YAML-103]: stage_timeout must be more than 0 seconds, not -1 (leave the key out for no limit)`,
				`p.yaml:2:55: error[AP-YAML-101]: idle_timeout must be a number, not text`,
				`p.yaml:2:68: error[AP-YAML-104]: unknown recovery "rerum" (did you mean "rerun"? available: ask, fail, rerun)`,
				`p.yaml:2:81: error[AP-YAML-104]: "A=b" is not the name of an environment variable (list the names of variables, without values)`,
				`p.yaml:2:105: error[AP-YAML-103]: attempts must be at least 1, not 0`,
				`p.yaml:2:121: error[AP-YAML-103]: a pause in backoff must be at least 0 seconds, not -1`,
				`p.yaml:2:125: error[AP-YAML-101]: a pause in backoff must be a number, not text`,
				`p.yaml:2:129: warning[AP-YAML-301]: unknown key "tries" in retry is ignored`,
				`p.yaml:2:140: warning[AP-YAML-301]: unknown key "timeuot" in policy is ignored (did you mean "timeout"?)`,
				`p.yaml:4:36: error[AP-YAML-104]: unknown env "minimum" (did you mean "minimal"? available: inherit, minimal, or a list of names)`,
				`p.yaml:4:52: error[AP-YAML-101]: retry must be a map, not a number`,
				`p.yaml:5:36: error[AP-YAML-101]: env must be inherit, minimal or a list of names, not a number`,
				`p.yaml:5:56: error[AP-YAML-101]: backoff must be a list, not a number`,
			},
		},
		"guardrails": {
			yaml: "name: a\nguardrails: 60\nnodes:\n" +
				"- {id: a, stage: guarded, guardrails: {max_runtime_seconds: 0}}\n" +
				"- {id: b, stage: guarded, guardrails: {max_runtime_seconds: -1.5}}\n" +
				"- {id: c, prompt: x, guardrails: {max_runtime_seconds: soon}}\n" +
				"- {id: d, prompt: x, guardrails: {max_runtime_second: 5}}\n" +
				"- id: e\n  guardrails: [5]\n  parallel:\n    providers: [claude]\n    stages:\n    - {id: f, prompt: x, guardrails: {max_runtime_seconds: {a: 1}}}\n" +
				"- {id: g, prompt: x, guardrails: {max_runtime_seconds: \"\"}}\n",
			stages: map[string]string{"guarded": "prompt: x\nguardrails:\n  max_runtime_seconds: no\n"},
			want: []string{
				`library:stages/guarded/stage.yaml:1:9: error[AP-YAML-202]: stage "guarded" has no prompt file; looked for x.md, x, prompts/x.md, prompts/prompt.md, prompt.md (write stages/guarded/prompt.md or set prompt:)`,
				`library:stages/guarded/stage.yaml:3:24: error[AP-YAML-101]: max_runtime_seconds must be a number, not text`,
				`p.yaml:2:13: error[AP-YAML-101]: guardrails must be a map, not a number`,
				`p.yaml:4:61: error[AP-YAML-103]: max_runtime_seconds must be more than 0 seconds, not 0 (leave the key out for no limit)`,
				`p.yaml:5:61: error[AP-YAML-103]: max_runtime_seconds must be more than 0 seconds, not -1.5 (leave the key out for no limit)`,
				`p.yaml:6:56: error[AP-YAML-101]: max_runtime_seconds must be a number, not text`,
				`p.yaml:7:35: warning[AP-YAML-301]: unknown key "max_runtime_second" in guardrails is ignored (did you mean "max_runtime_seconds"?)`,
				`p.yaml:9:15: error[AP-YAML-101]: guardrails must be a map, not a list`,
				`p.yaml:13:60: error[AP-YAML-101]: max_runtime_seconds must be a number, not a map`,
			},
		},
		"warnings only": {
			yaml: "name: a\nnote: x\nguardrails: {max_runtime_seconds: 7200, max_runtime: 3}\ndefaults: {modell: opus}\nstages: []\nnodes:\n- {id: a, stage: warned, promt: x, guardrails: {max_runtime_seconds: 60}}\n- {id: b, stage: warned, provider: codex}\n",
			stages: map[string]string{
				"warned": "prompt: ../tick/prompt\nprovider: claude\nmodel: opus\noutput_parse: x\nitems: [a]\ndelai: 3\nx-own: 1\n",
			},
			want: []string{
				`library:stages/warned/stage.yaml:1:9: error[AP-YAML-202]: stage "warned" has no prompt file; looked for ../tick/prompt.md, ../tick/prompt, prompts/prompt.md, prompt.md (write stages/warned/prompt.md or set prompt:)`,
				`library:stages/warned/stage.yaml:4:1: warning[AP-YAML-303]: output_parse has no effect yet`,
				`library:stages/warned/stage.yaml:5:1: warning[AP-YAML-303]: items has no effect yet`,
				`library:stages/warned/stage.yaml:6:1: warning[AP-YAML-301]: unknown key "delai" in the file is ignored (did you mean "delay"?)`,
				`p.yaml:2:1: warning[AP-YAML-301]: unknown key "note" in the file is ignored`,
				`p.yaml:3:41: warning[AP-YAML-301]: unknown key "max_runtime" in guardrails is ignored`,
				`p.yaml:4:12: warning[AP-YAML-301]: unknown key "modell" in defaults is ignored (did you mean "model"?)`,
				`p.yaml:5:1: warning[AP-YAML-303]: stages has no effect beside nodes (remove stages:)`,
				`p.yaml:7:26: warning[AP-YAML-301]: unknown key "promt" in node "a" is ignored (did you mean "prompt"?)`,
				`p.yaml:8:36: warning[AP-YAML-307]: model "opus", which the stage names for claude, goes to codex (name the model beside the provider)`,
			},
		},
		"a broken stage is reported once": {
			yaml:   "name: a\nnodes:\n- {id: a, stage: broken}\n- {id: b, stage: broken}\n- {id: c, stage: empty}\n",
			stages: map[string]string{"broken": "provider: {a: 1}\ndelay: -2\ncheck_before: maybe\nartifact: {}\nprompt: /nowhere/x.md", "empty": ""},
			want: []string{
				`library:stages/broken/stage.yaml:1:11: error[AP-YAML-101]: provider must be text, not a map (put the text in quotes if it holds a colon or braces)`,
				`library:stages/broken/stage.yaml:2:8: error[AP-YAML-103]: delay must be at least 0 seconds, not -2`,
				`library:stages/broken/stage.yaml:3:15: error[AP-YAML-101]: check_before must be true or false, not text`,
				`library:stages/broken/stage.yaml:4:11: error[AP-YAML-102]: artifact in the file is empty (add type: or schema:, or remove the key)`,
				`library:stages/broken/stage.yaml:5:9: error[AP-YAML-202]: stage "broken" has no prompt file; looked for /nowhere/x.md, prompts/prompt.md, prompt.md (write stages/broken/prompt.md or set prompt:)`,
				`library:stages/empty/stage.yaml:1:1: error[AP-YAML-008]: the file is empty`,
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, tt.yaml, tt.stages)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// An alias bomb of 10^9 values is refused at once.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: bomb\nnodes: [{id: a, prompt: x}]\nx-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		last := "*a" + string(rune('0'+i-1))
		b.WriteString("x-" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(last+", ", 9) + last + "]\n")
	}
	got := diagnose(t, b.String(), nil)
	if len(got) != 1 || !strings.Contains(got[0], "error[AP-YAML-006]: the document has more than 100000 values once its aliases are expanded") {
		t.Errorf("got %q", got)
	}
}

func TestUnreadableFile(t *testing.T) {
	req := compile.Request{Roots: sources.Roots{Project: t.TempDir()}, File: "gone.yaml", Catalog: catalog{}}
	_, err := compile.Pipeline(req)
	want := yamldoc.Diagnostics{{File: "gone.yaml", Line: 1, Column: 1, Code: yamldoc.CodeRead, Message: "the file cannot be read: no such file or directory"}}
	var got yamldoc.Diagnostics
	if !errors.As(err, &got) || cmp.Diff(want, got) != "" {
		t.Errorf("got %v, want %v", err, want)
	}
	check(t, os.Mkdir(filepath.Join(req.Project, "gone.yaml"), 0o750))
	if _, err := compile.Pipeline(req); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("got %v for a directory", err)
	}
}

// Values of the command line and the environment have no line.
func TestOverridesAreNamed(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte("name: p\nnodes: [{id: a, prompt: x}, {id: b, prompt: x}]\n"))
	base := compile.Request{Roots: sources.Roots{Project: dir, Library: library(nil)}, File: "p.yaml", Catalog: catalog{}}
	tests := map[string]struct {
		change func(*compile.Request)
		want   string
	}{
		"flag":        {func(r *compile.Request) { r.Overrides.Provider = "gemini" }, `--provider: error[AP-YAML-203]: unknown provider: gemini (available: claude, codex, mock)`},
		"environment": {func(r *compile.Request) { r.Env.Provider = "codx" }, `CLAUDE_PIPELINE_PROVIDER: error[AP-YAML-203]: unknown provider: codx (did you mean "codex"? available: claude, codex, mock)`},
		"none": {func(*compile.Request) {}, `p.yaml:2:9: error[AP-YAML-203]: no provider is set (set one: provider: <name>, or --provider=<name>; available: claude, codex, mock)` + "\n" +
			`p.yaml:2:29: error[AP-YAML-203]: no provider is set (set one: provider: <name>, or --provider=<name>; available: claude, codex, mock)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := base
			tt.change(&req)
			_, err := compile.Pipeline(req)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	_, err := compile.Stage(base, compile.Loop{Stage: "tick", Max: -1})
	if err == nil || !strings.Contains(err.Error(), "max: error[AP-YAML-103]: the number of iterations must be at least 1, not -1") {
		t.Errorf("a loop of -1: %v", err)
	}
}
