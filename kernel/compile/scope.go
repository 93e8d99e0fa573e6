package compile

import (
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// outline is what the inputs of other nodes need to know of a node.
type outline struct {
	id    string
	block *blockMembers // nil for anything but a parallel block
}

// blockMembers are the ids in a parallel block.
type blockMembers struct {
	stages, providers []string
}

// inputScope is where inputs stand, and with it what they can name.
type inputScope struct {
	nodes []outline // of the pipeline, in order
	node  int       // the node
	// inside is set within the node's parallel block, where stage is the number of the stage, or
	// ofProvider.
	inside bool
	stage  int
}

// providerScope stands for a stage's number in the scope of a provider's inputs.
const providerScope = -1

// inBlock is the scope of a stage, or of the providers, of the block at s.
func (s inputScope) inBlock(stage int) inputScope {
	s.inside, s.stage = true, stage
	return s
}

// ownBlock are the members of the block that the inputs stand in or at, nil if there is no block.
func (s inputScope) ownBlock() *blockMembers { return s.nodes[s.node].block }

func (s inputScope) earlier() []outline { return s.nodes[:s.node] }
func (s inputScope) later() []outline   { return s.nodes[s.node+1:] }

// findOutline returns the first of the nodes with an id, nil if there is none.
func findOutline(nodes []outline, id string) *outline {
	for i := range nodes {
		if nodes[i].id == id {
			return &nodes[i]
		}
	}
	return nil
}

// outlines reads the ids of nodes ahead of their compilation.
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

// itemIDs are the ids of a list's items, which are texts or have one under the first of the keys; "" for an
// item without. What is wrong with them is reported when they are compiled.
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
