package compile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// demands are what a node or a stage wants of the input artifact.
type demands struct {
	mapping
	requires   map[string][]string
	skipWhen   string
	skipWhenAt value
}

// demands reads requires and skip_when. data are the bytes of the file.
func (m mapping) demands(data []byte) demands {
	d := demands{mapping: m, requires: m.requires()}
	d.skipWhen, d.skipWhenAt = m.skipWhen(data)
	return d
}

// requires are the fields that have to be there, by where the input artifact is from; nil for none.
func (m mapping) requires() map[string][]string {
	inner, ok := m.mapping("requires")
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	all := map[string][]string{}
	for _, e := range inner.node.Entries {
		if fields := inner.fields(e.Key); len(fields) > 0 {
			all[e.Key] = fields
		}
	}
	return all
}

// skipWhen is the expression for when the node has nothing to do.
func (m mapping) skipWhen(data []byte) (string, value) {
	text, at := m.text("skip_when")
	if at.Node != nil {
		_, err := condition.ParseSkip(text)
		m.checkCondition(err, at, data)
	}
	return text, at
}

// over lays what a node demands over what its stage does: its own lists, and its own expression, instead of the stage's.
func (d demands) over(stage demands) demands {
	merged := maps.Clone(stage.requires)
	if merged == nil {
		merged = d.requires
	} else {
		maps.Copy(merged, d.requires)
	}
	return demands{requires: merged, skipWhen: cmp.Or(d.skipWhen, stage.skipWhen)}
}

// set gives the node what is demanded.
func (d demands) set(n *plan.Node) { n.Requires, n.SkipWhen = d.requires, d.skipWhen }

// refuseDemands reports a stage of a block that demands something: nodes are begun or skipped, not their parts. What the
// stage's own file says has no effect there.
func (a authored) refuseDemands(stage demands) {
	a.refuse("requires", "say it on the block", "what is handed on is looked at before the block")
	a.refuse("skip_when", "say it on the block", "a block is skipped as a whole")
	for _, key := range []string{"requires", "skip_when"} {
		if !a.has(key) && stage.node != nil && stage.has(key) {
			a.Warnf(a.place(a.get("stage", "loop")).at, diagnostic.CodeNoEffect, "say it on the block", "%s of the stage of %s has no effect inside a block", key, a.what)
		}
	}
}

// checkRequires looks for the nodes whose artifacts are demanded: they exist, and the way may lead from them.
func (f *flow) checkRequires() {
	ids := idsOf(f.list)
	for i, a := range f.list {
		inner, ok := a.quietly("requires")
		if !ok {
			continue
		}
		for _, e := range inner.node.Entries {
			source := slices.Index(ids, e.Key)
			switch {
			case e.Key == plan.RequiresAny || e.Key == plan.RequiresStart:
			case source < 0:
				inner.Errorf(e.KeyPos, diagnostic.CodeNode, didYouMean(e.Key, append([]string{plan.RequiresAny, plan.RequiresStart}, ids...)), "requires names unknown node %q", e.Key)
			case len(ids) < len(f.list) || !f.whole: // what follows would be said of a way that nobody meant
			case !f.leads(source, i):
				inner.Warnf(e.KeyPos, diagnostic.CodeNoEffect, "remove it, or let an edge lead here", "what is required of %q has no effect: no way leads from there to %q", e.Key, a.id)
			case f.nodes[source] != nil && f.nodes[source].Kind == plan.KindStage && f.nodes[source].Artifact == nil:
				inner.Warnf(e.KeyPos, diagnostic.CodeNoEffect, "give that node an artifact", "what is required of %q has no effect: it has no artifact", e.Key)
			}
		}
	}
}

// leads reports whether some way leads from one node to another, or back to itself.
func (f *flow) leads(from, to int) bool {
	seen := make([]bool, f.done()+1)
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range f.after(queue[0], course{exit: -1}) {
			if next == to {
				return true
			}
			if next < f.done() && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}
