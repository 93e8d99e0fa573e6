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
// without category and paths, a rule for all calls decides, else the policy's default. Only a user allows a destructive
// call. An external call is decided as an external_request, too.
func Decide(p *plan.Approvals, c sdk.ToolCall, s Context) Decision {
	r := s.applyRules(p, c)
	if c.External {
		c.Category = sdk.CategoryExternal
		r = stricter(r, s.byPolicy(p, c, ""))
	}
	if c.Destructive && r.Approval == plan.ApprovalAuto {
		r = Decision{Approval: plan.ApprovalPrompt, Rule: RuleDestructive}
	}
	if r.Approval != plan.ApprovalPrompt || s.Person {
		return r
	}
	r.Approval = plan.ApprovalDeny
	if p != nil {
		r.Approval = cmp.Or(p.NonInteractive, plan.ApprovalDeny)
	}
	switch {
	case c.Destructive && (p == nil || r.Approval == plan.ApprovalAuto):
		r.Approval, r.Reason = plan.ApprovalDeny, "it may lose work that nothing restores, and no user can allow it: a run with --wait asks"
	case r.Approval != plan.ApprovalAuto:
		r.Reason = "no user can allow it, and policy.approvals.non_interactive is " + string(r.Approval)
	}
	return r
}

func (s Context) applyRules(p *plan.Approvals, c sdk.ToolCall) Decision {
	var found Decision
	terminal := c.Category == sdk.CategoryTerminal
	if terminal || len(c.Paths) == 0 {
		found = s.byPolicy(p, c, "")
	}
	for _, path := range c.Paths {
		r, fixed := s.guard(p, c.Category, path)
		if !fixed && !terminal { // a command is ruled on as a whole
			r = s.byPolicy(p, c, path)
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

// DeniesChanges reports whether a policy, which is not nil, denies every change of a file, whatever its path: the stage
// only looks.
func DeniesChanges(p *plan.Approvals) bool {
	for _, category := range []sdk.Category{sdk.CategoryFileWrite, sdk.CategoryFileDelete, sdk.CategoryDirectoryCreate} {
		allows := func(r plan.ApprovalRule) bool {
			return r.Policy != plan.ApprovalDeny && (r.Operation == "" || r.Operation == string(category))
		}
		if cmp.Or(p.Categories[string(category)], p.Default) != plan.ApprovalDeny || slices.ContainsFunc(p.Rules, allows) {
			return false
		}
	}
	return true
}

// Answered decides by the answer to a question, or by its expiry. rule is the name of the rule that required the
// question.
func Answered(p *plan.Approvals, d event.QuestionAnsweredData, rule string) Decision {
	switch {
	case d.Expired:
		late := plan.ApprovalDeny
		if p != nil {
			late = cmp.Or(p.OnTimeout, late)
		}
		return Decision{late, "there was no answer in time, and policy.approvals.on_timeout is " + string(late), rule}
	case d.Answer == event.AnswerApprove:
		return Decision{plan.ApprovalAuto, d.Text, rule}
	case d.Answer == event.AnswerSkip:
		return Decision{plan.ApprovalSkip, cmp.Or(d.Text, "the user skipped it"), rule}
	default:
		return Decision{plan.ApprovalDeny, cmp.Or(d.Text, "the user denied it"), rule}
	}
}
