package compile

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/compile/yamltree"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

var (
	inputKeys   = []string{"from", "select", "from_parallel", "from_initial"}
	selectWords = []string{"all", "history", "latest"}
)

// neighbours are the ids of a pipeline's nodes as one of them sees them.
type neighbours struct {
	earlier, later []string // the node itself counts as later
	blocks         bool     // the pipeline has parallel blocks
}

// inputs checks a node's inputs and copies them as they are written.
func (m mapping) inputs(n neighbours) plan.Inputs {
	inner, ok := m.mapping("inputs")
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	inner.unknown(inputKeys)
	inner.checkFrom(n)
	if word, at := inner.text("select"); at.Node != nil && !slices.Contains(selectWords, word) {
		inner.errorf(at.Pos, CodeWord, didYouMean(word, selectWords), "unknown select %q", word)
	}
	if v := inner.get("from_parallel"); v.Node != nil && !n.blocks {
		inner.errorf(v.Pos, CodeInputs, "use inputs.from", "from_parallel needs an earlier parallel block, and there is none")
	}
	inputs := plan.Inputs{}
	for _, e := range inner.node.Entries {
		inputs[e.Key] = raw(e.Value)
	}
	return inputs
}

func (m mapping) checkFrom(n neighbours) {
	from, at := m.text("from")
	switch {
	case at.Node == nil || slices.Contains(n.earlier, from):
	case slices.Contains(n.later, from):
		m.errorf(at.Pos, CodeInputs, "move that node up, or take the output of an earlier one", "inputs.from names %q, which does not run before this node", from)
	default:
		m.errorf(at.Pos, CodeInputs, didYouMean(from, n.earlier), "inputs.from names unknown node %q", from)
	}
}

// raw is a value as JSON. The tree holds nothing that JSON cannot say.
func raw(n *yamltree.Node) json.RawMessage {
	data, err := json.Marshal(n.Any())
	if err != nil {
		panic(fmt.Sprintf("compile: a YAML value that is no JSON: %v", err))
	}
	return data
}
