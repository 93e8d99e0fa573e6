package compile

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// steps reads the steps of a node, nil if there are none.
func (a authored) steps() *plan.Steps {
	inner, ok := a.mapping.mapping("steps")
	if !ok {
		return nil
	}
	inner.what = "steps of " + a.what
	inner.unknown(&dialect.Steps)
	s := &plan.Steps{From: inner.required("from"), Path: inner.required("path"), Parallel: inner.flag("parallel")}
	s.ID, _ = inner.text("id")
	s.DependsOn, _ = inner.text("depends_on")
	s.MaxTurns, _ = inner.count("max_turns")
	s.Rerun = oneOf[string](inner, "rerun", &dialect.Steps)
	if _, err := plan.ParseStepPath(s.Path); err != nil && s.Path != "" {
		inner.Errorf(inner.get("path").Pos, diagnostic.CodeWord, "", "%v", err)
	}
	retries, _ := inner.mapping("retry_by")
	if retries.node == nil {
		return s
	}
	s.RetryBy = map[string]int{}
	for _, e := range retries.node.Entries {
		n, at := retries.atLeast(0, e.Key)
		if at.Node != nil && retries.whole(n, at) {
			s.RetryBy[e.Key] = int(n)
		}
	}
	return s
}

// checkSteps looks for the nodes that steps come from: earlier ones with an artifact.
func (f *flow) checkSteps() {
	for i, n := range f.nodes {
		if n == nil || n.Steps == nil || n.Steps.From == "" {
			continue
		}
		inner, _ := f.list[i].quietly("steps")
		at, from := inner.place(inner.get("from")), n.Steps.From
		source := slices.IndexFunc(f.list, func(a authored) bool { return a.id == from })
		switch {
		case source < 0:
			at.errorf(diagnostic.CodeSteps, didYouMean(from, f.withArtifact(i)), "steps.from names unknown node %q", from)
		case source >= i:
			at.errorf(diagnostic.CodeSteps, "move that node up, or take the steps of an earlier one", "steps.from names %q, which does not run before this node", from)
		case f.nodes[source] != nil && !f.nodes[source].MakesArtifact():
			at.errorf(diagnostic.CodeSteps, "give that node an artifact", "steps.from names %q, which has no artifact", from)
		}
	}
}

// withArtifact are the ids of the nodes before number i that have an artifact.
func (f *flow) withArtifact(i int) []string {
	var ids []string
	for _, n := range f.nodes[:i] {
		if n != nil && n.MakesArtifact() {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
