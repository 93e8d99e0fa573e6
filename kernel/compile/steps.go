package compile

import (
	"slices"

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

// checkSteps checks that the steps of each node come from an earlier node with an artifact.
func (f *graph) checkSteps() {
	for i, n := range f.nodes {
		if n == nil || n.Steps == nil || n.Steps.From == "" {
			continue
		}
		inner, _ := f.sources[i].peek("steps")
		at, from := inner.location(inner.get("from")), n.Steps.From
		source := slices.IndexFunc(f.sources, func(a nodeSource) bool { return a.id == from })
		switch {
		case source < 0:
			at.errorf(yamldoc.CodeSteps, didYouMean(from, f.artifactNodes(i)), "steps.from names unknown node %q", from)
		case source >= i:
			at.errorf(yamldoc.CodeSteps, "move that node up, or use the steps of an earlier one", "steps.from names %q, which does not run before this node", from)
		case f.nodes[source] != nil && !f.nodes[source].MakesArtifact():
			at.errorf(yamldoc.CodeSteps, "give that node an artifact", "steps.from names %q, which has no artifact", from)
		}
	}
}

// artifactNodes returns the ids of the nodes before number i that have an artifact.
func (f *graph) artifactNodes(i int) []string {
	var ids []string
	for _, n := range f.nodes[:i] {
		if n != nil && n.MakesArtifact() {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
