package verdict

import (
	"cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Ruling is what becomes of a call.
type Ruling struct {
	// Approval is auto, deny or skip, which a provider is told; prompt, before a person has been asked; or what
	// ends the attempt: escalate and fail.
	Approval plan.Approval
	// Reason is in words for the model and the journal, "" for a call that the policy lets pass.
	Reason string
}

// Of rules on a call by the policy. A nil policy lets everything pass. person says that somebody is there to be
// asked; nobody is asked otherwise.
func Of(p *plan.Approvals, _ sdk.ToolCall, person bool) Ruling {
	if p == nil {
		return Ruling{Approval: plan.ApprovalAuto}
	}
	r := Ruling{Approval: cmp.Or(p.Default, plan.ApprovalPrompt)}
	if r.Approval == plan.ApprovalDeny {
		r.Reason = "tool calls are denied by policy.approvals.default"
	}
	if r.Approval != plan.ApprovalPrompt || person {
		return r
	}
	r.Approval = cmp.Or(p.NonInteractive, plan.ApprovalDeny)
	if r.Approval != plan.ApprovalAuto {
		r.Reason = "nobody is there to allow it, and policy.approvals.non_interactive is " + string(r.Approval)
	}
	return r
}

// Asks reports whether there are calls that a person is asked about.
func Asks(p *plan.Approvals, person bool) bool {
	return Of(p, sdk.ToolCall{}, person).Approval == plan.ApprovalPrompt
}

// Answered rules by the answer to the question, also by that there was none in time.
func Answered(p *plan.Approvals, d event.QuestionAnsweredData) Ruling {
	switch {
	case d.Expired:
		late := cmp.Or(p.OnTimeout, plan.ApprovalDeny)
		return Ruling{late, "nobody answered in time, and policy.approvals.on_timeout is " + string(late)}
	case d.Answer == event.AnswerApprove:
		return Ruling{plan.ApprovalAuto, d.Text}
	default:
		return Ruling{plan.ApprovalDeny, cmp.Or(d.Text, "a person refused it")}
	}
}

// Action is what the provider is told; false for what it is not told.
func (r Ruling) Action() (sdk.VerdictAction, bool) {
	switch r.Approval {
	case plan.ApprovalAuto:
		return sdk.VerdictRun, true
	case plan.ApprovalDeny:
		return sdk.VerdictDeny, true
	case plan.ApprovalSkip:
		return sdk.VerdictSkip, true
	default:
		return "", false
	}
}
