package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// approval is what a node or a stage says of a person's approval.
type approval struct {
	said, asks bool
	at         place
}

// approval reads require_human_approval.
func (m mapping) approval() approval {
	at := m.get("require_human_approval")
	return approval{said: at.Node != nil, asks: m.flag("require_human_approval"), at: m.place(at)}
}

// or is a, or b where a says nothing.
func (a approval) or(b approval) approval {
	if a.said {
		return a
	}
	return b
}

// supervision are the hooks that supervised of the pipeline and require_human_approval of its nodes stand
// for, and what the command line says like them: one for each node that a person is asked about. The last node, which
// supervised does not ask about, is that after which the pipeline is complete.
func (c *compiler) supervision(m mapping, list []authored, asks []approval) []plan.Hook {
	supervised, at := m.flag("supervised"), m.place(m.get("supervised"))
	exit, _ := m.text("exit_after")
	outermost := len(c.open) == 1
	if outermost {
		exit = cmp.Or(c.Overrides.ExitAfter, exit)
	}
	if outermost && c.Overrides.Supervised && !supervised {
		supervised, at = true, c.outside("--supervised")
	}
	if supervised && len(list) == 1 {
		at.Warnf(at.at, diagnostic.CodeNoEffect, "write require_human_approval: true on the node", "supervised has no effect on a pipeline of one node: it asks after every node but the last")
	}
	last := len(list) - 1
	if i := slices.IndexFunc(list, func(a authored) bool { return a.id == exit && exit != "" }); i >= 0 {
		last = i
	}
	var hooks []plan.Hook
	for i, a := range list {
		own := asks[i]
		watched := supervised && i != last
		if watched && own.said && !own.asks {
			own.at.Warnf(own.at.at, diagnostic.CodeNoEffect, "", "%s is asked about all the same: the pipeline is supervised", a.what)
		}
		switch {
		case a.id == "":
		case own.asks:
			hooks = append(hooks, question(a.id, own.at))
		case outermost && slices.Contains(c.Overrides.Iterate, a.id):
			hooks = append(hooks, question(a.id, c.outside("--iterate")))
		case watched:
			hooks = append(hooks, question(a.id, at))
		}
	}
	return hooks
}

// question is the hook that asks a person about a node that has ended well: what becomes of another, its edges say.
func question(id string, at place) plan.Hook {
	return plan.Hook{
		Point: plan.PointStageEnd, Stage: id, Action: plan.ActionConfirm, Message: fmt.Sprintf("Stage %s is done. Go on?", id),
		Condition: `status == "success"`, AcceptFeedback: true, Supervise: true, At: at.String(),
	}
}

// refuseApproval reports a stage of a block that a person has to approve: there the question is the block's.
func (a authored) refuseApproval(own, stage approval) {
	switch {
	case own.asks:
		a.refuse("require_human_approval", "say it on the block", "a person is asked after the block")
	case own.or(stage).asks:
		a.Errorf(a.place(a.get("stage", "loop")).at, diagnostic.CodeConflict, "say require_human_approval: true on the block and false here",
			"the stage of %s wants a person's approval, and inside a block nobody is asked", a.what)
	}
}
