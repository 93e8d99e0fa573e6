package compile

import (
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// outline holds the facts of a node that the inputs of other nodes depend on.
type outline struct {
	id    string
	block *blockMembers // nil for a node without a parallel block
}

// blockMembers are the ids in a parallel block.
type blockMembers struct {
	stages, providers []string
}

// inputScope is the location of inputs in the pipeline. It decides which nodes the inputs can name.
type inputScope struct {
	nodes []outline // of the pipeline, in order
	node  int       // index of the node in nodes
	// inside is true within the node's parallel block. stage is then the index of the stage, or providerScope.
	inside bool
	stage  int
}

// providerScope is the stage index of a provider's inputs.
const providerScope = -1

// inBlock returns the scope of a stage, or of the providers, of the block at s.
func (s inputScope) inBlock(stage int) inputScope {
	s.inside, s.stage = true, stage
	return s
}

// ownBlock returns the members of the node's parallel block; nil for a node without one.
func (s inputScope) ownBlock() *blockMembers { return s.nodes[s.node].block }

func (s inputScope) earlier() []outline { return s.nodes[:s.node] }
func (s inputScope) later() []outline   { return s.nodes[s.node+1:] }

// findOutline returns the first node with an id; nil for none.
func findOutline(nodes []outline, id string) *outline {
	for i := range nodes {
		if nodes[i].id == id {
			return &nodes[i]
		}
	}
	return nil
}

// outlines reads the ids of nodes before their compilation.
func outlines(nodes []nodeSource) []outline {
	list := make([]outline, len(nodes))
	for i, a := range nodes {
		list[i].id = a.id
		if inner := a.node.Get("parallel"); inner != nil && inner.Kind == yamldoc.Map {
			list[i].block = &blockMembers{
				stages:    itemIDs(inner.Get("stages"), "id", "name"),
				providers: itemIDs(inner.Get("providers"), "as", "name"),
			}
		}
	}
	return list
}

// itemIDs returns the ids of a list's items: an item's text, or its value under the first of the keys; "" for an
// item without an id. It reports no faults.
func itemIDs(list *yamldoc.Node, keys ...string) []string {
	if list == nil {
		return nil
	}
	var found []string
	for _, item := range list.Items {
		m := object{node: item}
		switch v := m.get(keys...); {
		case item.Kind == yamldoc.Text:
			found = append(found, trimNewlines(item.Source))
		case v.Node != nil:
			found = append(found, trimNewlines(v.Source))
		default:
			found = append(found, "")
		}
	}
	return found
}
