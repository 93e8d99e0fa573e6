package author

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// hooksOf are the hooks of a plan that are for one of its nodes, those for the stages of a block included; for no
// node, those that are not for any one.
func hooksOf(p *plan.Plan, n *plan.Node) []string {
	var texts []string
	for i := range p.Pipeline.Hooks {
		h := &p.Pipeline.Hooks[i]
		switch {
		case n == nil && h.Stage == "", n != nil && h.Stage == n.ID:
			texts = append(texts, hookText(h))
		case n != nil && h.Stage != "" && slices.ContainsFunc(n.Stages, func(s plan.Node) bool { return s.ID == h.Stage }):
			texts = append(texts, hookText(h)+", of stage "+h.Stage)
		}
	}
	return texts
}

// hookText is a hook in words: its point, its action, what is asked and when.
func hookText(h *plan.Hook) string {
	text := string(h.Point) + " " + h.Action
	if h.Message != "" {
		text += fmt.Sprintf(" %q", h.Message)
	}
	if h.AcceptFeedback {
		text += ", with feedback"
	}
	if h.Condition != "" {
		text += " when " + h.Condition
	}
	if h.Supervise {
		text += " (" + h.At + ")"
	}
	return text
}
