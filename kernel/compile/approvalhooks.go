package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// approvalHooks returns the hooks for the keys supervised and require_human_approval and the overrides of the
// same purpose: at most one for each node. A supervised pipeline asks after every node but one: the node of
// exit_after, else the last.
func approvalHooks(c *compiler, m dialect.Map, list []sources.Node, approvals []sources.Approval) []plan.Hook {
	supervised, at := m.Boolean("supervised"), m.Location(m.Get("supervised"))
	exit, _ := m.Text("exit_after")
	outermost := len(c.includeStack) == 1
	if outermost {
		exit = cmp.Or(c.Overrides.ExitAfter, exit)
	}
	if outermost && c.Overrides.Supervised && !supervised {
		supervised, at = true, c.overrideLocation("supervised")
	}
	if supervised && len(list) == 1 {
		at.Warnf(yamldoc.CodeNoEffect, "write require_human_approval: true on the node", "supervised has no effect on a pipeline of one node: it asks after every node but the last")
	}
	last := len(list) - 1
	if i := slices.IndexFunc(list, func(a sources.Node) bool { return a.ID == exit && exit != "" }); i >= 0 {
		last = i
	}
	var hooks []plan.Hook
	for i, a := range list {
		nodeApproval := approvals[i]
		watched := supervised && i != last
		if watched && nodeApproval.IsSet && !nodeApproval.Required {
			nodeApproval.At.Warnf(yamldoc.CodeNoEffect, "", "require_human_approval: false has no effect on %s: the pipeline is supervised", a.Label)
		}
		switch {
		case a.ID == "":
		case nodeApproval.Required:
			hooks = append(hooks, approvalHook(a.ID, nodeApproval.At))
		case outermost && slices.Contains(c.Overrides.Iterate, a.ID):
			hooks = append(hooks, approvalHook(a.ID, c.overrideLocation("iterate")))
		case watched:
			hooks = append(hooks, approvalHook(a.ID, at))
		}
	}
	return hooks
}

// approvalHook returns the hook that asks the user about a node that has succeeded. After another outcome the run
// follows the node's edge without a question.
func approvalHook(id string, at dialect.Location) plan.Hook {
	return plan.Hook{
		Point: plan.PointStageEnd, Stage: id, Action: plan.ActionConfirm, Message: fmt.Sprintf("Stage %s is done. Go on?", id),
		Condition: `status == "success"`, AcceptFeedback: true, Supervise: true, Source: at.String(),
	}
}
