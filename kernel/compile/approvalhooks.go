package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// approvalHooks returns the hooks of supervised, of require_human_approval and of the flags like them: at most one
// for each node. supervised asks after every node but the last, which is the node of exit_after if there is one.
func (c *compiler) approvalHooks(m object, list []nodeSource, approvals []approval) []plan.Hook {
	supervised, at := m.boolean("supervised"), m.location(m.get("supervised"))
	exit, _ := m.text("exit_after")
	outermost := len(c.includeStack) == 1
	if outermost {
		exit = cmp.Or(c.Overrides.ExitAfter, exit)
	}
	if outermost && c.Overrides.Supervised && !supervised {
		supervised, at = true, c.externalLocation("--supervised")
	}
	if supervised && len(list) == 1 {
		at.Warnf(yamldoc.CodeNoEffect, "write require_human_approval: true on the node", "supervised has no effect on a pipeline of one node: it asks after every node but the last")
	}
	last := len(list) - 1
	if i := slices.IndexFunc(list, func(a nodeSource) bool { return a.id == exit && exit != "" }); i >= 0 {
		last = i
	}
	var hooks []plan.Hook
	for i, a := range list {
		nodeApproval := approvals[i]
		watched := supervised && i != last
		if watched && nodeApproval.isSet && !nodeApproval.required {
			nodeApproval.at.Warnf(yamldoc.CodeNoEffect, "", "require_human_approval: false has no effect on %s: the pipeline is supervised", a.label)
		}
		switch {
		case a.id == "":
		case nodeApproval.required:
			hooks = append(hooks, approvalHook(a.id, nodeApproval.at))
		case outermost && slices.Contains(c.Overrides.Iterate, a.id):
			hooks = append(hooks, approvalHook(a.id, c.externalLocation("--iterate")))
		case watched:
			hooks = append(hooks, approvalHook(a.id, at))
		}
	}
	return hooks
}

// approvalHook returns the hook that asks the user about a node that has succeeded. Other outcomes follow their
// edges.
func approvalHook(id string, at location) plan.Hook {
	return plan.Hook{
		Point: plan.PointStageEnd, Stage: id, Action: plan.ActionConfirm, Message: fmt.Sprintf("Stage %s is done. Go on?", id),
		Condition: `status == "success"`, AcceptFeedback: true, Supervise: true, Source: at.String(),
	}
}
