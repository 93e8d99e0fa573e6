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
	s := &plan.Steps{}
	inner.Decode(&dialect.Steps, s)
	s.Path = dialect.TrimNewlines(s.Path)
	if _, err := plan.ParseStepPath(s.Path); err != nil && s.Path != "" {
		inner.Errorf(inner.Get("path").Pos, yamldoc.CodeChoice, "", "%v", err)
	}
	return s
}
