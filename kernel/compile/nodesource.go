package compile

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// refuseApproval reports a stage of a block with an approval: the block asks the user.
func (a nodeSource) refuseApproval(own, stage approval) {
	switch {
	case own.required:
		a.refuse("require_human_approval", "write it on the block", "the user is asked after the block")
	case own.withDefault(stage).required:
		a.Errorf(a.location(a.get("stage", "loop")).pos, yamldoc.CodeConflict, "write require_human_approval: true on the block and false here",
			"the stage of %s needs the user's approval, but nobody is asked inside a block", a.label)
	}
}

// onKeys are the keys that other dialects use for transitions: YAML 1.1 reads on as true.
var onKeys = []string{"on", "true"}

// nodeSource is a node, or a stage of a block, as written.
type nodeSource struct {
	object
	noun  string // "node" or "stage"
	index int    // in its list, from 0
	id    string
	idAt  location
}

// newNodeSource reads the id of item number index of a list of nodes, or of the stages of a block. Messages use
// the number for an item without an id. suffix names the owner of the list; "" for the pipeline.
func newNodeSource(d yamldoc.Document, n *yamldoc.Node, noun string, index int, suffix string) nodeSource {
	a := nodeSource{object: newObject(d, n, fmt.Sprintf("%s %d%s", noun, index+1, suffix)), noun: noun, index: index}
	id, at := a.text("id", "name")
	a.id, a.idAt = id, a.location(at)
	if id != "" {
		a.label = fmt.Sprintf("%s %q%s", noun, id, suffix)
	}
	return a
}

// checkRepeated reports repeated ids.
func checkRepeated(list []nodeSource) {
	first := map[string]location{}
	for _, a := range list {
		if a.id == "" {
			continue
		}
		if at, twice := first[a.id]; twice {
			a.idAt.Errorf(yamldoc.CodeRepeated, "give each "+a.noun+" its own id", "%s id %q is repeated, first in line %d", a.noun, a.id, at.pos.Line)
			continue
		}
		first[a.id] = a.idAt
	}
}

// checkCommon checks the keys that all kinds of nodes share.
func (a nodeSource) checkCommon() {
	a.warnUnknownKeys(slices.Concat(dialect.Node.Names(), onKeys))
	for _, key := range onKeys {
		if at := a.keyPos(key); at.Line > 0 {
			a.Warnf(at, yamldoc.CodeUnknownKey, "write transitions:", "unknown key %q in %s is ignored", key, a.label)
		}
	}
	a.checkID()
}

// kind returns the kind of the node. It returns "" and reports a fault if the node has none or several.
func (a nodeSource) kind() plan.Kind {
	isStage, block, nested := a.isSet("stage", "loop", "prompt"), a.isSet("parallel"), a.isSet("pipeline")
	switch {
	case isStage && (block || nested):
		key := a.get("parallel", "pipeline").key
		a.Errorf(a.keyPos(key), yamldoc.CodeConflict, "make two nodes of it", "%s cannot have %s beside stage or prompt", a.label, key)
	case block && nested:
		a.Errorf(a.keyPos("pipeline"), yamldoc.CodeConflict, "make two nodes of it", "%s cannot have pipeline beside parallel", a.label)
	case isStage:
		return plan.KindStage
	case block:
		return plan.KindParallel
	case nested:
		return plan.KindPipeline
	default:
		a.reportEmpty("add stage:, prompt:, parallel:, pipeline: or wraps:")
	}
	return ""
}

func (a nodeSource) reportEmpty(hint string) {
	a.Errorf(a.node.Pos, yamldoc.CodeMissing, hint, "%s has neither stage nor prompt", a.label)
}

func (a nodeSource) checkID() {
	if a.id == "" && !a.isSet("id", "name") {
		a.Errorf(a.node.Pos, yamldoc.CodeMissing, "add id:", "%s has no id", a.label)
		return
	}
	if fault := nameFault(a.id); a.id != "" && fault != "" {
		a.idAt.Errorf(yamldoc.CodeIdentifier, "ids become directory names", "%s id %q %s", a.noun, a.id, fault)
	}
}

// checkIgnored checks the types of keys without effect on a node without a stage.
func (a nodeSource) checkIgnored() {
	for _, key := range []string{"provider", "model", "context", "output_path"} {
		_, _ = a.text(key)
	}
	_, _ = a.atLeast(0, "delay")
	_ = a.termination()
}

// nodeSources returns the nodes as written.
func (m object) nodeSources() []nodeSource {
	items, _ := m.nodeItems()
	list := make([]nodeSource, 0, len(items))
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.wrongItem(item, "a node", "a map")
			continue
		}
		list = append(list, newNodeSource(m.Document, item, "node", i, ""))
	}
	checkRepeated(list)
	return list
}

// nodeItems returns the items of nodes, or of the deprecated key stages.
func (m object) nodeItems() ([]*yamldoc.Node, bool) {
	key := "nodes"
	if old := m.keyPos("stages"); old.Line > 0 {
		if !m.has("nodes") && m.node.Get("nodes") == nil {
			key = "stages"
			name, _ := m.text("name")
			m.Warnf(old, yamldoc.CodeDeprecated, "", "Pipeline '%s' uses deprecated 'stages' key at line %d. Rename to 'nodes'.", name, old.Line)
		} else {
			m.Warnf(old, yamldoc.CodeNoEffect, "remove stages:", "stages has no effect beside nodes")
		}
	}
	items, ok := m.list(key)
	switch {
	case !ok && !m.has(key):
		m.Errorf(m.node.Pos, yamldoc.CodeMissing, "add nodes:", "%s has no nodes", m.label)
	case ok && len(items) == 0:
		m.Warnf(m.get(key).Pos, yamldoc.CodeNoNodes, "add a node", "the pipeline has no nodes and completes at once")
	}
	return items, ok
}

// checkShares reports shares of unknown nodes.
func (m object) checkShares(list []nodeSource) {
	policy, _ := m.peek("policy")
	budget, _ := policy.peek("budget")
	shares, ok := budget.peek("shares")
	if !ok {
		return
	}
	ids := nodeIDs(list)
	for _, e := range shares.node.Entries {
		if !slices.Contains(ids, e.Key) {
			shares.Errorf(e.KeyPos, yamldoc.CodeNode, didYouMean(e.Key, ids), "shares name unknown node %q", e.Key)
		}
	}
}

// nodeIDs returns the ids of nodes, without empty ones.
func nodeIDs(list []nodeSource) []string {
	var ids []string
	for _, a := range list {
		if a.id != "" {
			ids = append(ids, a.id)
		}
	}
	return ids
}
