package sources

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// ReadInputs checks the inputs in the scope s and returns them, with scalars as text except under from_initial.
func ReadInputs(m dialect.Map, s Scope) plan.Inputs {
	inner, ok := m.MapAt("inputs")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Inputs)
	checkFrom(inner, s)
	checkSelect(inner)
	checkParallel(inner, s)
	inputs := plan.Inputs{}
	for _, e := range inner.Node.Entries {
		if inputs[e.Key] = e.Value.JSON(); e.Key != "from_initial" {
			inputs[e.Key] = withTexts(e.Value).JSON()
		}
	}
	return inputs
}

// withTexts returns the value with all scalars as text, as [dialect.Map.Text] reads them: the id 1 is "1".
func withTexts(n *yamldoc.Node) *yamldoc.Node {
	c := *n
	switch n.Kind {
	case yamldoc.Bool, yamldoc.Number, yamldoc.Text:
		return &yamldoc.Node{Pos: n.Pos, Kind: yamldoc.Text, Source: dialect.TrimNewlines(n.Source)}
	case yamldoc.List:
		c.Items = make([]*yamldoc.Node, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = withTexts(item)
		}
	case yamldoc.Map:
		c.Entries = slices.Clone(n.Entries)
		for i := range c.Entries {
			c.Entries[i].Value = withTexts(c.Entries[i].Value)
		}
	}
	return &c
}

// checkFrom checks the node that inputs.from names. In a block, the earlier stages of the block are searched
// first, then the earlier nodes of the pipeline.
func checkFrom(m dialect.Map, s Scope) {
	from, at := m.Text("from")
	if at.Node == nil {
		return
	}
	var before []string
	if s.inside && s.stage > 0 {
		before = s.ownBlock().Stages[:s.stage]
	}
	if slices.Contains(before, from) {
		return
	}
	earlier := findOutline(s.earlier(), from)
	if earlier != nil && earlier.Block == nil {
		return
	}
	hint, format := s.fromFault(from, earlier)
	if format == "" {
		format = "names unknown node %q"
		hint = dialect.DidYouMean(from, slices.Concat(before, nonBlockIDs(s.earlier())))
	}
	m.Errorf(at.Pos, yamldoc.CodeInputs, hint, "inputs.from "+format, from)
}

// fromFault returns a hint and a message format for the name of an existing node or stage that inputs.from cannot name.
// The format is "" if none exists.
func (s Scope) fromFault(from string, earlier *Outline) (hint, format string) {
	const later = "names %q, which does not run before this node"
	switch {
	case earlier != nil:
		return "use from_parallel with one of its stages", "names %q, which is a parallel block"
	case s.inside && s.stage == ProviderScope && slices.Contains(s.ownBlock().Stages, from):
		return "write it in the inputs of the stage that reads it", "names %q, a stage of the block, for all of its stages"
	case s.inside && slices.Contains(s.ownBlock().Stages, from):
		return "move that stage up, or use the output of an earlier one", later
	case findOutline(s.Nodes[s.Node:], from) != nil:
		return "move that node up, or use the output of an earlier one", later
	}
	for _, o := range s.earlier() {
		if o.Block != nil && slices.Contains(o.Block.Stages, from) {
			return "use from_parallel: " + from, "names %q, which is a stage of a parallel block"
		}
	}
	return "", ""
}

// nonBlockIDs returns the ids of the nodes without a parallel block.
func nonBlockIDs(nodes []Outline) []string {
	var ids []string
	for _, o := range nodes {
		if o.Block == nil {
			ids = append(ids, o.ID)
		}
	}
	return ids
}
