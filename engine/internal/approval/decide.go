package approval

import (
	"cmp"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Decide applies the policy to a call; the strictest decision on the call's paths counts. Protected paths are always
// denied, paths outside of the workspace under every policy. Otherwise a nil policy allows everything. On a call
// without category and paths, a rule for all calls decides, else the policy's default.
func Decide(p *plan.Approvals, c sdk.ToolCall, s Context) Decision {
	r := applyRules(p, c, s)
	if r.Approval != plan.ApprovalPrompt || s.Person {
		return r
	}
	r.Approval = cmp.Or(p.NonInteractive, plan.ApprovalDeny)
	if r.Approval != plan.ApprovalAuto {
		r.Reason = "no user can allow it, and policy.approvals.non_interactive is " + string(r.Approval)
	}
	return r
}

func applyRules(p *plan.Approvals, c sdk.ToolCall, s Context) Decision {
	var found Decision
	terminal := c.Category == sdk.CategoryTerminal
	if terminal || len(c.Paths) == 0 {
		found = byPolicy(p, c, "")
	}
	for _, path := range c.Paths {
		r, fixed := s.guard(p, c.Category, path)
		if !fixed && !terminal { // a command is ruled on as a whole
			r = byPolicy(p, c, path)
		}
		found = stricter(found, r)
	}
	return found
}

// strictness orders decisions, the mildest first.
var strictness = []plan.Approval{"", plan.ApprovalAuto, plan.ApprovalSkip, plan.ApprovalPrompt, plan.ApprovalFail, plan.ApprovalDeny}

// stricter returns the stricter one of two decisions, a if both are equally strict.
func stricter(a, b Decision) Decision {
	if slices.Index(strictness, b.Approval) > slices.Index(strictness, a.Approval) {
		return b
	}
	return a
}

// MayAsk reports whether a policy may ask the user about calls. It is false if no user is present.
func MayAsk(p *plan.Approvals, person bool) bool {
	if p == nil || !person {
		return false
	}
	if p.Default == plan.ApprovalPrompt || p.Default == "" {
		return true
	}
	for _, a := range p.Categories {
		if a == plan.ApprovalPrompt {
			return true
		}
	}
	return slices.ContainsFunc(p.Rules, func(r plan.ApprovalRule) bool { return r.Policy == plan.ApprovalPrompt })
}

// Answered decides by the answer to a question, or by its expiry. rule is the name of the rule that required the
// question.
func Answered(p *plan.Approvals, d event.QuestionAnsweredData, rule string) Decision {
	switch {
	case d.Expired:
		late := cmp.Or(p.OnTimeout, plan.ApprovalDeny)
		return Decision{late, "there was no answer in time, and policy.approvals.on_timeout is " + string(late), rule}
	case d.Answer == event.AnswerApprove:
		return Decision{plan.ApprovalAuto, d.Text, rule}
	case d.Answer == event.AnswerSkip:
		return Decision{plan.ApprovalSkip, cmp.Or(d.Text, "the user skipped it"), rule}
	default:
		return Decision{plan.ApprovalDeny, cmp.Or(d.Text, "the user denied it"), rule}
	}
}
