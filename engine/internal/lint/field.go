package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Fields that a node requires and no other node makes.

// always are the fields of every run's start artifact, which every node sees.
var always = []string{"original_request", "request_id"}

// checkHandedOn finds fields that a node may not receive, and fields that no node makes. item is n's position
// in the list of p.
func checkHandedOn(d yamldoc.Document, p *plan.Plan, item *yamldoc.Node, n *plan.Node) {
	checkRequired(d, p, item, n)
	if n.Artifact == nil {
		return
	}
	made, known := madeBefore(p, n)
	node := item.Get("artifact")
	if known {
		for _, field := range listItems(node.Get("carry")) {
			warnUnmade(d, field, made)
		}
		if defaults := node.Get("defaults_from"); defaults != nil {
			for _, e := range defaults.Entries {
				warnUnmade(d, e.Value, made)
			}
		}
	}
}

// checkRequired finds fields that the contract of the node they come from does not promise.
func checkRequired(d yamldoc.Document, p *plan.Plan, item *yamldoc.Node, n *plan.Node) {
	requires := item.Get("requires")
	if requires == nil {
		return
	}
	for _, e := range requires.Entries {
		source := slices.IndexFunc(p.Nodes, func(s plan.Node) bool { return s.ID == e.Key })
		if source < 0 || p.Nodes[source].Artifact == nil || len(p.Nodes[source].Artifact.Schema) == 0 {
			continue
		}
		for _, field := range listItems(e.Value) {
			if name := field.Source; !promises(p.Nodes[source].Artifact, name) {
				d.Warnf(field.Pos, yamldoc.CodeNoField, "add the field to required in that node's schema, or to its artifact.carry", "node %q requires %s of %s, whose contract does not promise it: its schema does not require it, nor is it carried or measured", n.ID, name, e.Key)
			}
		}
	}
}

// promises reports whether an artifact that fits its contract has the field at a path.
func promises(a *plan.Artifact, field string) bool {
	top, _, _ := strings.Cut(field, ".")
	if slices.Contains(always, top) || slices.Contains(a.Carry, top) || slices.Contains(a.Carry, field) {
		return true
	}
	for target := range a.KernelFields {
		if target == field || strings.HasPrefix(target, field+".") {
			return true
		}
	}
	return read(a.Schema).requires(strings.Split(field, "."))
}

// shape holds the keywords of a JSON Schema that define fields.
type shape struct {
	Ref        string                     `json:"$ref"`
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
	AllOf      []json.RawMessage          `json:"allOf"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	If         json.RawMessage            `json:"if"`
}

// read returns the shape of a schema, the empty one for other values than objects.
func read(raw json.RawMessage) shape {
	var s shape
	if json.Unmarshal(raw, &s) != nil {
		return shape{}
	}
	return s
}

// isOpen reports whether alternatives or references leave open which fields there are.
func (s shape) isOpen() bool {
	return s.Ref != "" || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.If != nil
}

// requires reports whether the schema requires the field at a path. Where it is open, it says yes.
func (s shape) requires(path []string) bool {
	if s.isOpen() || len(path) == 0 {
		return true
	}
	inner, found := s.Properties[path[0]]
	return slices.Contains(s.Required, path[0]) && (len(path) == 1 || found && read(inner).requires(path[1:]))
}

// madeBefore returns the fields that the artifacts of other nodes and the run's input may have. known is false if no
// node before n has an artifact, or if one does not list its fields.
func madeBefore(p *plan.Plan, n *plan.Node) (made []string, known bool) {
	made = slices.Clone(always)
	for i := range p.Nodes {
		other, before := &p.Nodes[i], i < p.Index(n.Path)
		made = append(made, other.Requires[plan.RequiresStart]...)
		if other.ID == n.ID {
			continue
		}
		fields, listed := artifactFields(other)
		if before && !listed {
			return nil, false
		}
		known = known || before && other.Artifact != nil
		made = append(made, fields...)
	}
	return made, known
}

// artifactFields returns the fields that a node's artifact may have; listed is false where it may have others.
func artifactFields(n *plan.Node) (fields []string, listed bool) {
	if n.Artifact == nil {
		return nil, n.Kind == plan.KindStage
	}
	s := read(n.Artifact.Schema)
	fields = slices.Concat(s.Required, n.Artifact.Carry, slices.Collect(maps.Keys(s.Properties)), slices.Collect(maps.Keys(n.Artifact.DefaultsFrom)))
	for field := range n.Artifact.KernelFields {
		top, _, _ := strings.Cut(field, ".")
		fields = append(fields, field, top)
	}
	return fields, len(s.Properties) > 0 && !s.isOpen()
}

// warnUnmade warns of a field that nothing before makes.
func warnUnmade(d yamldoc.Document, field *yamldoc.Node, made []string) {
	top, _, _ := strings.Cut(field.Source, ".")
	if field.Kind != yamldoc.Text || slices.Contains(made, top) || slices.Contains(made, field.Source) {
		return
	}
	hint := "if the run is given it, list it under requires: {$input: […]}"
	if near := nearest.Name(field.Source, made); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	d.Warnf(field.Pos, yamldoc.CodeNoProducer, hint, "no node before makes the field %q", field.Source)
}

// listItems returns the values of a list, none for other nodes.
func listItems(list *yamldoc.Node) []*yamldoc.Node {
	if list == nil || list.Kind != yamldoc.List {
		return nil
	}
	return list.Items
}
