package sources

import (
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Steps reads the steps of a node; nil if absent.
func (a Node) Steps() *plan.Steps {
	inner, ok := a.MapAt("steps")
	if !ok {
		return nil
	}
	inner.Label = "steps of " + a.Label
	inner.CheckKeys(&dialect.Steps)
	s := &plan.Steps{From: inner.RequiredText("from"), Path: inner.RequiredText("path"), Parallel: inner.Boolean("parallel")}
	s.ID, _ = inner.Text("id")
	s.DependsOn, _ = inner.Text("depends_on")
	s.MaxTurns, _ = inner.Count("max_turns")
	s.Rerun = dialect.ReadChoice[string](inner, "rerun", &dialect.Steps)
	if _, err := plan.ParseStepPath(s.Path); err != nil && s.Path != "" {
		inner.Errorf(inner.Get("path").Pos, yamldoc.CodeChoice, "", "%v", err)
	}
	retries, _ := inner.MapAt("retry_by")
	if retries.Node == nil {
		return s
	}
	s.RetryBy = map[string]int{}
	for _, e := range retries.Node.Entries {
		n, at := retries.AtLeast(0, e.Key)
		if at.Node != nil && retries.CheckWhole(n, at) {
			s.RetryBy[e.Key] = int(n)
		}
	}
	return s
}
