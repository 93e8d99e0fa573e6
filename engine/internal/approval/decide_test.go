package approval_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func ruling(word plan.Approval, reason string) approval.Decision {
	return approval.Decision{Approval: word, Reason: reason, Rule: approval.RuleDefault}
}

// U175, K25: Decide applies the policy's default, with and without a user.
func TestDecide(t *testing.T) {
	absent := func(word string) string {
		return "no user can allow it, and policy.approvals.non_interactive is " + word
	}
	for _, tt := range []struct {
		name   string
		policy *plan.Approvals
		person bool
		want   approval.Decision
	}{
		{"no policy", nil, false, approval.Decision{Approval: plan.ApprovalAuto}},
		{"auto", &plan.Approvals{Default: plan.ApprovalAuto, NonInteractive: plan.ApprovalFail}, false, ruling("auto", "")},
		{"deny", &plan.Approvals{Default: plan.ApprovalDeny, NonInteractive: plan.ApprovalAuto}, true, ruling("deny", "tool calls are denied by policy.approvals.default")},
		{"prompt", &plan.Approvals{Default: plan.ApprovalPrompt, NonInteractive: plan.ApprovalAuto}, true, ruling("prompt", "")},
		{"nothing set, with a user", &plan.Approvals{}, true, ruling("prompt", "")},
		{"nothing set, no user", &plan.Approvals{}, false, ruling("deny", absent("deny"))},
		{"no user: auto", &plan.Approvals{NonInteractive: plan.ApprovalAuto}, false, ruling("auto", "")},
		{"no user: skip", &plan.Approvals{NonInteractive: plan.ApprovalSkip}, false, ruling("skip", absent("skip"))},
		{"no user: fail", &plan.Approvals{NonInteractive: plan.ApprovalFail}, false, ruling("fail", absent("fail"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Equal(t, tt.want, approval.Decide(tt.policy, sdk.ToolCall{Tool: "write"}, approval.Context{Person: tt.person}))
		})
	}
}

// U322: only a user allows a destructive call, whatever the policy says; a denial stays one.
func TestDestructive(t *testing.T) {
	all := []plan.ApprovalRule{{Name: "all", Policy: plan.ApprovalAuto}}
	alone := "it may lose work that nothing restores, and no user can allow it: a run with --wait asks"
	for _, tt := range []struct {
		name   string
		policy *plan.Approvals
		person bool
		want   approval.Decision
	}{
		{"no policy", nil, true, approval.Decision{Approval: plan.ApprovalPrompt, Rule: approval.RuleDestructive}},
		{"no policy, no user", nil, false, approval.Decision{Approval: plan.ApprovalDeny, Reason: alone, Rule: approval.RuleDestructive}},
		{"auto", &plan.Approvals{Default: plan.ApprovalAuto, Rules: all}, true, approval.Decision{Approval: plan.ApprovalPrompt, Rule: approval.RuleDestructive}},
		{"auto, no user", &plan.Approvals{Default: plan.ApprovalAuto, NonInteractive: plan.ApprovalAuto}, false, approval.Decision{Approval: plan.ApprovalDeny, Reason: alone, Rule: approval.RuleDestructive}},
		{"prompt, no user: auto", &plan.Approvals{NonInteractive: plan.ApprovalAuto}, false, ruling("deny", alone)},
		{"no user: fail", &plan.Approvals{Default: plan.ApprovalAuto, NonInteractive: plan.ApprovalFail}, false, approval.Decision{Approval: plan.ApprovalFail, Reason: "no user can allow it, and policy.approvals.non_interactive is fail", Rule: approval.RuleDestructive}},
		{"deny", &plan.Approvals{Default: plan.ApprovalDeny}, true, ruling("deny", "tool calls are denied by policy.approvals.default")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := sdk.ToolCall{Tool: "run_terminal", Category: sdk.CategoryTerminal, Command: "git reset --hard", Destructive: true}
			testkit.Equal(t, tt.want, approval.Decide(tt.policy, call, approval.Context{Person: tt.person}))
		})
	}
}

// U324: an external command is decided as a command and as an external request; the stricter decision counts.
func TestExternal(t *testing.T) {
	policy := func(command, request plan.Approval) *plan.Approvals {
		return &plan.Approvals{Categories: map[string]plan.Approval{"terminal_command": command, "external_request": request}}
	}
	call := sdk.ToolCall{Tool: "run_terminal", Category: sdk.CategoryTerminal, Command: "git push", External: true}
	for _, tt := range []struct {
		policy *plan.Approvals
		want   plan.Approval
		rule   string
	}{
		{nil, plan.ApprovalAuto, ""},
		{policy("auto", "auto"), plan.ApprovalAuto, "terminal_command"},
		{policy("auto", "deny"), plan.ApprovalDeny, "external_request"},
		{policy("deny", "auto"), plan.ApprovalDeny, "terminal_command"},
		{&plan.Approvals{Categories: map[string]plan.Approval{"terminal_command": "auto"}}, plan.ApprovalPrompt, "default"},
		{&plan.Approvals{Default: plan.ApprovalAuto, Rules: []plan.ApprovalRule{{Operation: "external_request", Policy: "deny"}}}, plan.ApprovalDeny, "rule 1"},
		{&plan.Approvals{Default: plan.ApprovalDeny, Rules: []plan.ApprovalRule{
			{Operation: "terminal_command", Policy: "auto"}, {Operation: "external_request", Pattern: "^git push$", Policy: "auto"},
		}}, plan.ApprovalAuto, "rule 1"},
	} {
		r := approval.Decide(tt.policy, call, approval.Context{Person: true})
		if r.Approval != tt.want || r.Rule != tt.rule {
			t.Errorf("%+v: %+v", tt.policy, r)
		}
	}
}

// U175: Answered decides by the user's answer, or by on_timeout for an expired question.
func TestDecisionByAnswer(t *testing.T) {
	late := func(word plan.Approval) approval.Decision {
		return approval.Decision{Approval: word, Reason: "there was no answer in time, and policy.approvals.on_timeout is " + string(word), Rule: "no-go"}
	}
	for _, tt := range []struct {
		name   string
		policy plan.Approvals
		answer event.QuestionAnsweredData
		want   approval.Decision
	}{
		{"approved", plan.Approvals{}, event.QuestionAnsweredData{Answer: "approve"}, approval.Decision{Approval: plan.ApprovalAuto, Rule: "no-go"}},
		{"approved with a word", plan.Approvals{}, event.QuestionAnsweredData{Answer: "approve", Text: "once"}, approval.Decision{Approval: plan.ApprovalAuto, Reason: "once", Rule: "no-go"}},
		{"refused", plan.Approvals{}, event.QuestionAnsweredData{Answer: "reject"}, approval.Decision{Approval: plan.ApprovalDeny, Reason: "the user denied it", Rule: "no-go"}},
		{"refused with a word", plan.Approvals{}, event.QuestionAnsweredData{Answer: "reject", Text: "use git rm"}, approval.Decision{Approval: plan.ApprovalDeny, Reason: "use git rm", Rule: "no-go"}},
		{"left out", plan.Approvals{}, event.QuestionAnsweredData{Answer: "skip"}, approval.Decision{Approval: plan.ApprovalSkip, Reason: "the user skipped it", Rule: "no-go"}},
		{"left out with a word", plan.Approvals{}, event.QuestionAnsweredData{Answer: "skip", Text: "later"}, approval.Decision{Approval: plan.ApprovalSkip, Reason: "later", Rule: "no-go"}},
		{"late", plan.Approvals{}, event.QuestionAnsweredData{Answer: "reject", Expired: true}, late(plan.ApprovalDeny)},
		{"late: skip", plan.Approvals{OnTimeout: plan.ApprovalSkip}, event.QuestionAnsweredData{Answer: "reject", Expired: true}, late(plan.ApprovalSkip)},
		{"late: escalate", plan.Approvals{OnTimeout: plan.ApprovalEscalate}, event.QuestionAnsweredData{Answer: "reject", Expired: true}, late(plan.ApprovalEscalate)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Equal(t, late(plan.ApprovalDeny), approval.Answered(nil, event.QuestionAnsweredData{Expired: true}, "no-go"))
			testkit.Equal(t, tt.want, approval.Answered(&tt.policy, tt.answer, "no-go"))
		})
	}
}

// A provider receives three actions; the other decisions stay in the engine.
func TestAction(t *testing.T) {
	actions := map[plan.Approval]sdk.VerdictAction{}
	for _, a := range []plan.Approval{
		plan.ApprovalAuto, plan.ApprovalPrompt, plan.ApprovalDeny, plan.ApprovalSkip, plan.ApprovalEscalate, plan.ApprovalFail,
	} {
		if action, ok := (approval.Decision{Approval: a}).Action(); ok {
			actions[a] = action
		}
	}
	want := map[plan.Approval]sdk.VerdictAction{"auto": sdk.VerdictRun, "deny": sdk.VerdictDeny, "skip": sdk.VerdictSkip}
	testkit.Equal(t, want, actions)
}

// D17: a stage only looks if no rule and no category lets it change a file, whatever the path.
func TestDeniesChanges(t *testing.T) {
	looks := map[string]plan.Approval{"file_write": "deny", "file_delete": "deny", "directory_create": "deny", "terminal_command": "auto"}
	for name, tt := range map[string]struct {
		policy *plan.Approvals
		want   bool
	}{
		"nothing said":            {&plan.Approvals{}, false},
		"categories":              {&plan.Approvals{Default: "auto", Categories: looks}, true},
		"the default":             {&plan.Approvals{Default: "deny"}, true},
		"one category is asked":   {&plan.Approvals{Default: "deny", Categories: map[string]plan.Approval{"file_delete": "prompt"}}, false},
		"a rule that allows":      {&plan.Approvals{Categories: looks, Rules: []plan.ApprovalRule{{Operation: "file_write", Pattern: "docs/**", Policy: "auto"}}}, false},
		"a rule on everything":    {&plan.Approvals{Categories: looks, Rules: []plan.ApprovalRule{{Policy: "prompt"}}}, false},
		"a rule on commands":      {&plan.Approvals{Categories: looks, Rules: []plan.ApprovalRule{{Operation: "terminal_command", Policy: "auto"}}}, true},
		"a rule that denies more": {&plan.Approvals{Categories: looks, Rules: []plan.ApprovalRule{{Operation: "file_write", Policy: "deny"}}}, true},
	} {
		if got := approval.DeniesChanges(tt.policy); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
