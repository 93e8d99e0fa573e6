package compile

import (
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// steps reads the steps of a node; nil if absent.
func (a nodeSource) steps() *plan.Steps {
	inner, ok := a.objectAt("steps")
	if !ok {
		return nil
	}
	inner.label = "steps of " + a.label
	inner.checkKeys(&dialect.Steps)
	s := &plan.Steps{From: inner.requiredText("from"), Path: inner.requiredText("path"), Parallel: inner.boolean("parallel")}
	s.ID, _ = inner.text("id")
	s.DependsOn, _ = inner.text("depends_on")
	s.MaxTurns, _ = inner.count("max_turns")
	s.Rerun = oneOf[string](inner, "rerun", &dialect.Steps)
	if _, err := plan.ParseStepPath(s.Path); err != nil && s.Path != "" {
		inner.Errorf(inner.get("path").Pos, yamldoc.CodeChoice, "", "%v", err)
	}
	retries, _ := inner.objectAt("retry_by")
	if retries.node == nil {
		return s
	}
	s.RetryBy = map[string]int{}
	for _, e := range retries.node.Entries {
		n, at := retries.atLeast(0, e.Key)
		if at.Node != nil && retries.checkWhole(n, at) {
			s.RetryBy[e.Key] = int(n)
		}
	}
	return s
}
