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
			testkit.Equal(t, tt.want.Approval == plan.ApprovalPrompt, approval.MayAsk(tt.policy, tt.person))
		})
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
