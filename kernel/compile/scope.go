package compile

import (
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// outline is what the inputs of other nodes need to know of a node.
type outline struct {
	id    string
	block *members // nil for anything but a parallel block
}

// members are the ids in a parallel block.
type members struct {
	stages, providers []string
}

// scope is where inputs stand, and with it what they can name.
type scope struct {
	nodes []outline // of the pipeline, in order
	at    int       // the node
	// inside is set within the node's parallel block, where stage is the number of the stage, or
	// ofProvider.
	inside bool
	stage  int
}

// ofProvider stands for a stage's number in the scope of a provider's inputs.
const ofProvider = -1

// in is the scope of a stage, or of the providers, of the block at s.
func (s scope) in(stage int) scope {
	s.inside, s.stage = true, stage
	return s
}

// own are the members of the block that the inputs stand in or at, nil if there is no block.
func (s scope) own() *members { return s.nodes[s.at].block }

func (s scope) earlier() []outline { return s.nodes[:s.at] }
func (s scope) later() []outline   { return s.nodes[s.at+1:] }

// node returns the first of the nodes with an id, nil if there is none.
func node(nodes []outline, id string) *outline {
	for i := range nodes {
		if nodes[i].id == id {
			return &nodes[i]
		}
	}
	return nil
}

// outlines reads the ids of nodes ahead of their compilation.
func outlines(nodes []authored) []outline {
	list := make([]outline, len(nodes))
	for i, a := range nodes {
		list[i].id = a.id
		if inner := a.node.Get("parallel"); inner != nil && inner.Kind == yamldoc.Map {
			list[i].block = &members{
				stages:    ids(inner.Get("stages"), "id", "name"),
				providers: ids(inner.Get("providers"), "as", "name"),
			}
		}
	}
	return list
}

// ids are the ids of a list's items, which are texts or have one under the first of the keys; "" for an
// item without. What is wrong with them is reported when they are compiled.
func ids(list *yamldoc.Node, keys ...string) []string {
	if list == nil {
		return nil
	}
	var found []string
	for _, item := range list.Items {
		m := mapping{node: item}
		switch v := m.get(keys...); {
		case item.Kind == yamldoc.Text:
			found = append(found, trimmed(item.Source))
		case v.Node != nil:
			found = append(found, trimmed(v.Source))
		default:
			found = append(found, "")
		}
	}
	return found
}
