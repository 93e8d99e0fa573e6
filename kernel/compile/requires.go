package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// requirements are the keys requires and skip_when of a node or a stage.
type requirements struct {
	object
	requires   map[string][]string
	skipWhen   string
	skipWhenAt value
}

// requirements reads requires and skip_when. data is the content of the file.
func (m object) requirements(data []byte) requirements {
	d := requirements{object: m, requires: m.requires()}
	d.skipWhen, d.skipWhenAt = m.skipWhen(data)
	return d
}

// requires returns the required fields by the source of the input artifact; nil for none.
func (m object) requires() map[string][]string {
	inner, ok := m.objectAt("requires")
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	all := map[string][]string{}
	for _, e := range inner.node.Entries {
		if fields := inner.fieldNames(e.Key); len(fields) > 0 {
			all[e.Key] = fields
		}
	}
	return all
}

// skipWhen returns the expression that decides whether the node is skipped.
func (m object) skipWhen(data []byte) (string, value) {
	text, at := m.text("skip_when")
	if at.Node != nil {
		_, err := condition.ParseSkip(text)
		m.checkCondition(err, at, data)
	}
	return text, at
}

// withDefaults returns the requirements of a node with those of its stage as defaults: lists by source, and the
// expression.
func (d requirements) withDefaults(stage requirements) requirements {
	merged := maps.Clone(stage.requires)
	if merged == nil {
		merged = d.requires
	} else {
		maps.Copy(merged, d.requires)
	}
	return requirements{requires: merged, skipWhen: cmp.Or(d.skipWhen, stage.skipWhen)}
}

// applyTo sets the requirements of the node.
func (d requirements) applyTo(n *plan.Node) { n.Requires, n.SkipWhen = d.requires, d.skipWhen }

// refuseRequirements reports the requirements of a stage of a block: only whole nodes are skipped. Those of the
// stage's own file have no effect there.
func (a nodeSource) refuseRequirements(stage requirements) {
	a.refuse("requires", "write it on the block", "the input artifact is checked before the block")
	a.refuse("skip_when", "write it on the block", "a block is skipped as a whole")
	for _, key := range []string{"requires", "skip_when"} {
		if !a.has(key) && stage.node != nil && stage.has(key) {
			a.Warnf(a.location(a.get("stage", "loop")).pos, yamldoc.CodeNoEffect, "write it on the block", "%s of the stage of %s has no effect inside a block", key, a.label)
		}
	}
}

// checkRequires reports requirements of unknown nodes, and of nodes without a path to this one.
func (f *graph) checkRequires() {
	ids := nodeIDs(f.sources)
	for i, a := range f.sources {
		inner, ok := a.peek("requires")
		if !ok {
			continue
		}
		for _, e := range inner.node.Entries {
			source := slices.Index(ids, e.Key)
			switch {
			case e.Key == plan.RequiresAny || e.Key == plan.RequiresStart:
			case source < 0:
				inner.Errorf(e.KeyPos, yamldoc.CodeNode, didYouMean(e.Key, append([]string{plan.RequiresAny, plan.RequiresStart}, ids...)), "requires names unknown node %q", e.Key)
			case len(ids) < len(f.sources) || !f.complete: // the following checks would mislead
			case !f.hasPath(source, i):
				inner.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "remove it, or let an edge lead here", "what is required of %q has no effect: no path leads from there to %q", e.Key, a.id)
			case f.nodes[source] != nil && f.nodes[source].Kind == plan.KindStage && f.nodes[source].Artifact == nil:
				inner.Warnf(e.KeyPos, yamldoc.CodeNoEffect, "give that node an artifact", "what is required of %q has no effect: it has no artifact", e.Key)
			}
		}
	}
}

// hasPath reports whether a path leads from one node to another, or back to itself.
func (f *graph) hasPath(from, to int) bool {
	seen := make([]bool, f.end()+1)
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range f.successors(queue[0], traversal{exit: -1}) {
			if next == to {
				return true
			}
			if next < f.end() && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}
