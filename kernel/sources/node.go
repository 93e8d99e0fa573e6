package sources

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// onKeys are the keys that other dialects use for transitions: YAML 1.1 reads on as true.
var onKeys = []string{"on", "true"}

// Node is a node, or a stage of a block, as written.
type Node struct {
	dialect.Map
	Noun  string // "node" or "stage"
	Index int    // in its list, from 0
	ID    string
	IDAt  dialect.Location
}

// NewNode reads the id of item number index of a list of nodes, or of the stages of a block. Messages use
// the number for an item without an id. suffix names the owner of the list; "" for the pipeline.
func NewNode(d yamldoc.Document, n *yamldoc.Node, noun string, index int, suffix string) Node {
	a := Node{Map: dialect.NewMap(d, n, fmt.Sprintf("%s %d%s", noun, index+1, suffix)), Noun: noun, Index: index}
	id, at := a.Text("id", "name")
	a.ID, a.IDAt = id, a.Location(at)
	if id != "" {
		a.Label = fmt.Sprintf("%s %q%s", noun, id, suffix)
	}
	return a
}

// CheckRepeated reports repeated ids.
func CheckRepeated(list []Node) {
	first := map[string]dialect.Location{}
	for _, a := range list {
		if a.ID == "" {
			continue
		}
		if at, twice := first[a.ID]; twice {
			a.IDAt.Errorf(yamldoc.CodeRepeated, "give each "+a.Noun+" its own id", "%s id %q is repeated, first in line %d", a.Noun, a.ID, at.Pos.Line)
			continue
		}
		first[a.ID] = a.IDAt
	}
}

// CheckCommon checks the keys that all kinds of nodes share.
func (a Node) CheckCommon() {
	a.WarnUnknownKeys(slices.Concat(dialect.Node.Names(), onKeys))
	for _, key := range onKeys {
		if at := a.KeyPos(key); at.Line > 0 {
			a.Warnf(at, yamldoc.CodeUnknownKey, "write transitions:", "unknown key %q in %s is ignored", key, a.Label)
		}
	}
	for _, f := range dialect.Node.Fields {
		if f.After != "" && a.Has(f.After) {
			a.WarnIgnored([]string{f.Name}, a.Label+" with "+f.After, "remove it")
		}
	}
	a.checkID()
}

// Kind returns the kind of the node. It returns "" and reports a fault if the node has none or several.
func (a Node) Kind() plan.Kind {
	isStage, block, nested := a.IsSet("stage", "loop", "prompt"), a.IsSet("parallel"), a.IsSet("pipeline")
	switch {
	case isStage && (block || nested):
		key := a.Get("parallel", "pipeline").Key
		a.Errorf(a.KeyPos(key), yamldoc.CodeConflict, "split it into two nodes", "%s cannot have %s beside stage or prompt", a.Label, key)
	case block && nested:
		a.Errorf(a.KeyPos("pipeline"), yamldoc.CodeConflict, "split it into two nodes", "%s cannot have pipeline beside parallel", a.Label)
	case isStage:
		return plan.KindStage
	case block:
		return plan.KindParallel
	case nested:
		return plan.KindPipeline
	default:
		a.ReportEmpty("add stage:, prompt:, parallel:, pipeline: or wraps:")
	}
	return ""
}

// ReportEmpty reports a node with neither stage nor prompt.
func (a Node) ReportEmpty(hint string) {
	a.Errorf(a.Node.Pos, yamldoc.CodeMissing, hint, "%s has neither stage nor prompt", a.Label)
}

func (a Node) checkID() {
	if a.ID == "" && !a.IsSet("id", "name") {
		a.Errorf(a.Node.Pos, yamldoc.CodeMissing, "add id:", "%s has no id", a.Label)
		return
	}
	if fault := NameFault(a.ID); a.ID != "" && fault != "" {
		a.IDAt.Errorf(yamldoc.CodeIdentifier, "ids become directory names", "%s id %q %s", a.Noun, a.ID, fault)
	}
}

// ReadNodes returns the nodes as written.
func ReadNodes(m dialect.Map) []Node {
	items, _ := nodeItems(m)
	list := make([]Node, 0, len(items))
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.WrongItem(item, "a node", "a map")
			continue
		}
		list = append(list, NewNode(m.Document, item, "node", i, ""))
	}
	CheckRepeated(list)
	return list
}

// nodeItems returns the items of nodes, or of the deprecated key stages.
func nodeItems(m dialect.Map) ([]*yamldoc.Node, bool) {
	key := "nodes"
	if old := m.KeyPos("stages"); old.Line > 0 {
		if !m.Has("nodes") && m.Node.Get("nodes") == nil {
			key = "stages"
			name, _ := m.Text("name")
			m.Warnf(old, yamldoc.CodeDeprecated, "", "Pipeline '%s' uses deprecated 'stages' key at line %d. Rename to 'nodes'.", name, old.Line)
		} else {
			m.Warnf(old, yamldoc.CodeNoEffect, "remove stages:", "stages has no effect beside nodes")
		}
	}
	items, ok := m.List(key)
	switch {
	case !ok && !m.Has(key):
		m.Errorf(m.Node.Pos, yamldoc.CodeMissing, "add nodes:", "%s has no nodes", m.Label)
	case ok && len(items) == 0:
		m.Warnf(m.Get(key).Pos, yamldoc.CodeNoNodes, "add a node", "the pipeline has no nodes and completes at once")
	}
	return items, ok
}

// CheckShares reports shares of the budget for unknown nodes.
func CheckShares(m dialect.Map, list []Node) {
	policy, _ := m.Peek("policy")
	budget, _ := policy.Peek("budget")
	shares, ok := budget.Peek("shares")
	if !ok {
		return
	}
	ids := NodeIDs(list)
	for _, e := range shares.Node.Entries {
		if !slices.Contains(ids, e.Key) {
			shares.Errorf(e.KeyPos, yamldoc.CodeNode, dialect.DidYouMean(e.Key, ids), "shares names unknown node %q", e.Key)
		}
	}
}

// NodeIDs returns the ids of nodes, without empty ones.
func NodeIDs(list []Node) []string {
	var ids []string
	for _, a := range list {
		if a.ID != "" {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// Steps reads the steps of a node; nil if absent.
func (a Node) Steps() *plan.Steps {
	inner, ok := a.MapAt("steps")
	if !ok {
		return nil
	}
	inner.Label = "steps of " + a.Label
	s := &plan.Steps{}
	inner.Decode(&dialect.Steps, s)
	s.Path = dialect.TrimNewlines(s.Path)
	if _, err := plan.ParseStepPath(s.Path); err != nil && s.Path != "" {
		inner.Errorf(inner.Get("path").Pos, yamldoc.CodeChoice, "", "%v", err)
	}
	return s
}
