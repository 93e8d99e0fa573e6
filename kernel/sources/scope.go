package sources

import (
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Outline holds the facts of a node that the inputs of other nodes depend on.
type Outline struct {
	ID    string
	Block *blockMembers // nil for a node without a parallel block
}

// blockMembers are the ids in a parallel block.
type blockMembers struct {
	Stages, providers []string
}

// Scope is the location of inputs in the pipeline. It decides which nodes the inputs can name.
type Scope struct {
	Nodes []Outline // of the pipeline, in order
	Node  int       // index of the node in Nodes
	// inside is true within the node's parallel block. stage is then the index of the stage, or ProviderScope.
	inside bool
	stage  int
}

// ProviderScope is the stage index of a provider's inputs.
const ProviderScope = -1

// InBlock returns the scope of a stage of the node's block; [ProviderScope] for the providers.
func (s Scope) InBlock(stage int) Scope {
	s.inside, s.stage = true, stage
	return s
}

// ownBlock returns the members of the node's parallel block; nil for a node without one.
func (s Scope) ownBlock() *blockMembers { return s.Nodes[s.Node].Block }

func (s Scope) earlier() []Outline { return s.Nodes[:s.Node] }
func (s Scope) later() []Outline   { return s.Nodes[s.Node+1:] }

// findOutline returns the first node with an id; nil for none.
func findOutline(nodes []Outline, id string) *Outline {
	for i := range nodes {
		if nodes[i].ID == id {
			return &nodes[i]
		}
	}
	return nil
}

// Outlines reads the ids of nodes before their compilation.
func Outlines(nodes []Node) []Outline {
	list := make([]Outline, len(nodes))
	for i, a := range nodes {
		list[i].ID = a.ID
		if inner := a.Node.Get("parallel"); inner != nil && inner.Kind == yamldoc.Map {
			list[i].Block = &blockMembers{
				Stages:    itemIDs(inner.Get("stages"), "id", "name"),
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
		m := dialect.Map{Node: item}
		switch v := m.Get(keys...); {
		case item.Kind == yamldoc.Text:
			found = append(found, dialect.TrimNewlines(item.Source))
		case v.Node != nil:
			found = append(found, dialect.TrimNewlines(v.Source))
		default:
			found = append(found, "")
		}
	}
	return found
}
