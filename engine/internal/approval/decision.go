package approval

import (
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Decision is the result of a policy for one call.
type Decision struct {
	// Approval is auto, deny or skip, which the provider receives; prompt, before the user has answered; or
	// escalate or fail, which end the attempt.
	Approval plan.Approval
	// Reason is a text for the model and the journal, "" for a call that the policy lets pass.
	Reason string
	// Rule names the rule that decided, by its name or number; or a category, or one of the Rule… constants. It is ""
	// if there is no policy and no fixed rule applies.
	Rule string
}

// Names of the rules that decide in addition to a policy's own rules and categories.
const (
	RuleDefault   = "default"   // policy.approvals.default, or the category's own default
	RuleProtected = "protected" // of [Protected] or policy.approvals.protected
	RuleWorkspace = "workspace" // a path leads out of the workspace
	RuleReport    = "report"    // the attempt's own files

	RuleDestructive = "destructive" // the call may lose work that nothing restores
)

// Context describes the attempt that makes a call.
type Context struct {
	// Project is the absolute path of the working directory, to which the paths of calls are relative.
	Project string
	// Reports are absolute paths of files and directories that the attempt may write to, Inputs those of files that
	// it may read.
	Reports, Inputs []string
	// Person reports whether a user is present to answer; without a user no question is asked.
	Person bool
	// Mode is the run's delivery mode.
	Mode plan.DeliveryMode
}

// Action returns the action that the provider receives. It returns false for decisions that the provider does not
// receive.
func (r Decision) Action() (sdk.VerdictAction, bool) {
	action, ok := actions[r.Approval]
	return action, ok
}

// actions are the actions that the provider receives.
var actions = map[plan.Approval]sdk.VerdictAction{
	plan.ApprovalAuto: sdk.VerdictRun, plan.ApprovalDeny: sdk.VerdictDeny, plan.ApprovalSkip: sdk.VerdictSkip,
}
