package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

const twoNodes = "name: a\nnodes:\n- {id: one, prompt: x}\n- id: both\n  parallel: {providers: [mock], stages: [{id: in, prompt: x}]}\nhooks:\n"

// U243, U248, K14: all faults of hooks are reported at once, at their positions. The hooks begin in line 7.
func TestHookDiagnostics(t *testing.T) {
	const variables = "the variables are event, iteration, provider, session, stage, status)"
	const words = " (available: abort, continue, pause)"
	for name, tt := range map[string]struct {
		hooks string
		want  []string
	}{
		"shapes": {"  stage_end: {action: pause}\n  stage_start: [pause, [a]]\n  iteration_end: 3\n", []string{
			`p.yaml:7:14: error[AP-YAML-101]: stage_end must be a list, not a map`,
			`p.yaml:8:17: error[AP-YAML-101]: a hook must be a map, not text`,
			`p.yaml:8:24: error[AP-YAML-101]: a hook must be a map, not a list`,
			`p.yaml:9:18: error[AP-YAML-101]: iteration_end must be a list, not a number`,
		}},
		"points": {"  stage_ends: []\n  before: []\n", []string{
			`p.yaml:7:3: error[AP-YAML-104]: unknown hook point "stage_ends" (did you mean "stage_end"? available: ` + points + `)`,
			`p.yaml:8:3: error[AP-YAML-104]: unknown hook point "before" (available: ` + points + `)`,
		}},
		"actions": {"  stage_end:\n  - {stage: one}\n  - {action: webhok}\n  - {action: [a]}\n  - {action: email, url: x}\n", []string{
			`p.yaml:8:5: error[AP-YAML-102]: hook 1 of stage_end has no action (add action:)`,
			`p.yaml:9:14: error[AP-YAML-208]: unknown hook action "webhok" (did you mean "webhook"? available: check, confirm, mock, pause, script, webhook)`,
			`p.yaml:10:14: error[AP-YAML-101]: action must be text, not a list`,
			`p.yaml:11:14: error[AP-YAML-208]: unknown hook action "email" (available: check, confirm, mock, pause, script, webhook)`,
		}},
		"stages": {
			"  session_start: [{action: pause, stage: one}]\n  stage_start: [{action: pause, stage: in}]\n  stage_end: [{action: pause, stage: oen}]\n" +
				"  iteration_start: [{action: pause, stage: inn}, {action: pause, stage: in}, {action: pause, stage: [one]}]\n" +
				"  parallel_provider_end: [{action: pause, stage: one}, {action: pause, stage: both}]\n",
			[]string{
				`p.yaml:7:42: error[AP-YAML-107]: hook 1 of session_start cannot have stage: it is called once per session (remove it, or write the hook at stage_start or stage_end)`,
				`p.yaml:8:40: error[AP-YAML-209]: "in" is a stage inside block "both", for which stage_start is not called (use parallel_provider_start or iteration_start, or name the block)`,
				`p.yaml:9:38: error[AP-YAML-209]: hook 1 of stage_end names unknown stage "oen" (did you mean "one"? available: both, one)`,
				`p.yaml:10:44: error[AP-YAML-209]: hook 1 of iteration_start names unknown stage "inn" (did you mean "in"? available: both, in, one)`,
				`p.yaml:10:101: error[AP-YAML-101]: stage must be text, not a list`,
				`p.yaml:11:50: warning[AP-YAML-303]: parallel_provider_end is not called for node "one", which is not a parallel block`,
			},
		},
		"conditions": {
			"  iteration_end:\n  - {action: pause, condition: len(stage) > 1}\n  - {action: pause, condition: \"status == \\\"ok\\\" && iteraton > 1\"}\n" +
				"  - {action: pause, condition: 'stage == ''x'' && iteration'}\n  - action: pause\n    condition: iteration % 5\n  - action: pause\n    condition: |\n      iteration > 1 &&\n      stage % 2\n",
			[]string{
				`p.yaml:8:32: error[AP-YAML-210]: a condition cannot call anything (compare the variables themselves, or write a script for it)`,
				`p.yaml:9:53: error[AP-YAML-210]: unknown name "iteraton" (did you mean "iteration"? ` + variables,
				`p.yaml:10:48: error[AP-YAML-210]: && needs true or false on both sides, not a number`,
				`p.yaml:12:26: error[AP-YAML-210]: a condition must be true or false, not a number (compare it with something)`,
				`p.yaml:14:16: error[AP-YAML-210]: line 2, column 7 of the condition: % needs a number on both sides, not text`,
			},
		},
		"keys of the kernel's own": {
			"  stage_end:\n  - {action: pause, timeout: 3, on_timeout: continue, accept_feedback: true, mesage: x, x-mine: 1}\n" +
				"  - {action: confirm, on_error: abort, timeout: 5, accept_feedbak: true, url: x}\n",
			[]string{
				`p.yaml:8:21: error[AP-YAML-107]: a pause has no timeout: it waits for the user (remove it)`,
				`p.yaml:8:33: error[AP-YAML-107]: a pause has no on_timeout: it waits for the user (remove it)`,
				`p.yaml:8:55: error[AP-YAML-107]: only a confirm takes feedback (write action: confirm)`,
				`p.yaml:8:78: error[AP-YAML-301]: unknown key "mesage" in hook 1 of stage_end (did you mean "message"?)`,
				`p.yaml:9:23: error[AP-YAML-107]: a question has no on_error: it waits for the user (remove it)`,
				`p.yaml:9:40: error[AP-YAML-107]: a question has no timeout: it waits for the user (remove it)`,
				`p.yaml:9:52: error[AP-YAML-301]: unknown key "accept_feedbak" in hook 2 of stage_end (did you mean "accept_feedback"?)`,
				`p.yaml:9:74: error[AP-YAML-301]: unknown key "url" in hook 2 of stage_end`,
			},
		},
		"values": {
			"  stage_end:\n  - {action: mock, timeout: 0, on_timeout: resume, on_error: abrot, accept_feedback: true, message: [a]}\n  - {action: confirm, accept_feedback: maybe}\n",
			[]string{
				`p.yaml:8:29: error[AP-YAML-103]: timeout must be more than 0 seconds, not 0 (leave the key out for the action's own limit)`,
				`p.yaml:8:44: error[AP-YAML-104]: unknown on_timeout "resume"` + words,
				`p.yaml:8:62: error[AP-YAML-104]: unknown on_error "abrot" (did you mean "abort"? available: abort, continue, pause)`,
				`p.yaml:8:69: error[AP-YAML-107]: only a confirm takes feedback (write action: confirm)`,
				`p.yaml:8:101: error[AP-YAML-101]: message must be text, not a list`,
				`p.yaml:9:40: error[AP-YAML-101]: accept_feedback must be true or false, not text`,
			},
		},
		"nothing left to pause": {
			"  session_end:\n  - {action: pause}\n  - {action: confirm}\n  - {action: mock, on_error: pause, on_timeout: pause}\n",
			[]string{
				`p.yaml:8:14: error[AP-YAML-107]: hook 1 of session_end cannot pause: nothing is left to pause (write it at stage_end)`,
				`p.yaml:9:14: error[AP-YAML-107]: hook 2 of session_end cannot confirm: nothing is left to pause (write it at stage_end)`,
				`p.yaml:10:30: warning[AP-YAML-303]: on_error: pause has no effect at session_end: nothing is left to pause (write on_error: continue)`,
				`p.yaml:10:49: warning[AP-YAML-303]: on_timeout: pause has no effect at session_end: nothing is left to pause (write on_timeout: continue)`,
			},
		},
		"too many": {
			"  stage_end: [" + strings.Repeat("{action: pause}, ", plan.MaxHooks) + "]\n  stage_start: [{action: pause}]\n",
			[]string{`p.yaml:7:3: error[AP-YAML-006]: the pipeline has 1000 hooks, more than the 999 allowed (let one hook do more)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, twoNodes+tt.hooks, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("as many as there may be", func(t *testing.T) {
		hooks := "  stage_end: [" + strings.Repeat("{action: pause}, ", plan.MaxHooks) + "]\n"
		if got := diagnose(t, twoNodes+hooks, nil); len(got) > 0 {
			t.Error(got)
		}
	})
}

const points = "iteration_end, iteration_start, parallel_provider_end, parallel_provider_start, session_end, session_start, stage_end, stage_start"

// Faults of require_human_approval, supervised and accept_feedback.
func TestApprovalDiagnostics(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"supervised": {"name: a\nsupervised: yes please\nnodes: [{id: a, prompt: x}, {id: b, prompt: x, require_human_approval: 1}]\n", []string{
			`p.yaml:2:13: error[AP-YAML-101]: supervised must be true or false, not text`,
			`p.yaml:3:72: error[AP-YAML-101]: require_human_approval must be true or false, not a number`,
		}},
		"supervised, of one node": {"name: a\nsupervised: true\nnodes: [{id: a, prompt: x}]\n", []string{
			`p.yaml:2:13: warning[AP-YAML-303]: supervised has no effect on a pipeline of one node: it asks after every node but the last (write require_human_approval: true on the node)`,
		}},
		"supervised all the same": {"name: a\nsupervised: true\nnodes: [{id: a, prompt: x, require_human_approval: false}, {id: b, prompt: x, require_human_approval: false}]\n", []string{
			`p.yaml:3:52: warning[AP-YAML-303]: require_human_approval: false has no effect on node "a": the pipeline is supervised`,
		}},
		"inside a block": {"name: a\nnodes:\n- id: b\n  parallel:\n    providers: [mock]\n    stages:\n    - {id: x, prompt: x, require_human_approval: true}\n    - {id: y, stage: tick, require_human_approval: true}\n", []string{
			`p.yaml:7:26: error[AP-YAML-107]: stage "x" of block "b" cannot have require_human_approval: the user is asked after the block (write it on the block)`,
			`p.yaml:8:28: error[AP-YAML-107]: stage "y" of block "b" cannot have require_human_approval: the user is asked after the block (write it on the block)`,
		}},
		"points that are never reached": {"name: a\nnodes: [{id: a, pipeline: inner.yaml}]\nhooks:\n  iteration_end: [{action: pause, stage: a}]\n  parallel_provider_start: [{action: pause}]\n  parallel_provider_end: []\n", []string{
			`p.yaml:2:27: error[AP-YAML-206]: unknown pipeline "inner.yaml" (searched inner.yaml, .claude/pipelines/inner.yaml, .claude/pipelines/inner.yaml.yaml, inner.yaml.yaml, scripts/pipelines/inner.yaml, scripts/pipelines/inner.yaml.yaml, the shipped pipelines)`,
			`p.yaml:4:42: warning[AP-YAML-303]: iteration_end is not called for node "a", which runs a pipeline (write the hook in that pipeline)`,
			`p.yaml:5:3: warning[AP-YAML-303]: parallel_provider_start has no effect: the pipeline has no parallel block`,
		}},
		"policy": {"name: a\npolicy:\n  feedback: {enabled: maybe, max: 11, most: 3}\n  approvals: {default: skip, timeout: 0, on_timeout: auto, non_interactive: denny, rules: [], protected: [], categories: {}, mode: x}\nnodes: [{id: a, prompt: x, policy: {feedback: 3, approvals: auto}}]\n", []string{
			`p.yaml:3:23: error[AP-YAML-101]: enabled must be true or false, not text`,
			`p.yaml:3:35: error[AP-YAML-103]: max must be at most 10, not 11`,
			`p.yaml:3:39: warning[AP-YAML-301]: unknown key "most" in feedback is ignored`,
			`p.yaml:4:24: error[AP-YAML-104]: unknown default "skip" (available: auto, deny, prompt)`,
			`p.yaml:4:39: error[AP-YAML-103]: timeout must be more than 0 seconds, not 0 (leave the key out for no limit)`,
			`p.yaml:4:54: error[AP-YAML-104]: unknown on_timeout "auto" (available: deny, escalate, skip)`,
			`p.yaml:4:77: error[AP-YAML-104]: unknown non_interactive "denny" (did you mean "deny"? available: auto, deny, fail, skip)`,
			`p.yaml:4:126: warning[AP-YAML-301]: unknown key "mode" in approvals is ignored`,
			`p.yaml:5:47: error[AP-YAML-101]: feedback must be a map, not a number`,
			`p.yaml:5:61: error[AP-YAML-101]: approvals must be a map, not text`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, tt.yaml, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := fmt.Sprint(diagnose(t, "name: a\nnodes: [{id: b, parallel: {providers: [mock], stages: [{id: x, stage: asking}]}}]\n", map[string]string{"asking": "require_human_approval: true\n"}))
	if want := `p.yaml:2:71: error[AP-YAML-107]: the stage of stage "x" of block "b" needs the user's approval, but no question is asked inside a block (write require_human_approval: true on the block and false here)`; !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}
