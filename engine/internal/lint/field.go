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

// The checks of this file find fields that a node requires and no other node makes. Only the first name of a dotted
// path counts.

// fields is the set of field names that an artifact's contract states.
type fields struct {
	promised []string // every valid artifact has them
	possible []string // a valid artifact may have them; includes promised
	open     bool     // whether other fields may be promised or possible, too
}

// artifactFields returns the fields of a node's artifact. The set is open if the schema has no properties, or has $ref,
// allOf, anyOf, oneOf or if. It is also open for a pipeline or block without an artifact.
func artifactFields(n *plan.Node) fields {
	if n.Artifact == nil {
		return fields{open: n.Kind != plan.KindStage}
	}
	var schema struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
		Ref        json.RawMessage            `json:"$ref"`
		AllOf      json.RawMessage            `json:"allOf"`
		AnyOf      json.RawMessage            `json:"anyOf"`
		OneOf      json.RawMessage            `json:"oneOf"`
		If         json.RawMessage            `json:"if"`
	}
	_ = json.Unmarshal(n.Artifact.Schema, &schema) // without a schema, or with the schema true, the fields are open
	f := fields{promised: slices.Concat([]string{"original_request", "request_id"}, schema.Required)}
	for _, name := range slices.AppendSeq(slices.Clone(n.Artifact.Carry), maps.Keys(n.Artifact.KernelFields)) {
		f.promised = append(f.promised, first(name))
	}
	f.possible = slices.Concat(f.promised, slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(n.Artifact.DefaultsFrom)))
	f.open = len(schema.Properties) == 0 || len(slices.Concat(schema.Ref, schema.AllOf, schema.AnyOf, schema.OneOf, schema.If)) > 0
	return f
}

// first returns the first name of a path.
func first(path string) string {
	name, _, _ := strings.Cut(path, ".")
	return name
}

// checkHandedOn warns of fields that n requires of nodes that do not promise them, and of fields that no other node
// makes. item is the source of n, a node of p.
func checkHandedOn(d yamldoc.Document, p *plan.Plan, item *yamldoc.Node, n *plan.Node) {
	for i := range p.Nodes {
		source := artifactFields(&p.Nodes[i])
		for _, field := range items(item.Get("requires"), p.Nodes[i].ID) {
			if p.Nodes[i].Artifact != nil && !source.open && !slices.Contains(source.promised, first(field.Source)) {
				d.Warnf(field.Pos, yamldoc.CodeNoField, "add the field to required in that node's schema, or to its artifact.carry",
					"node %q requires %s of %s, whose contract does not promise it: its schema does not require it, nor is it carried or measured", n.ID, field.Source, p.Nodes[i].ID)
			}
		}
	}
	wanted := items(item.Get("artifact"), "carry")
	if defaults := item.Get("artifact").Get("defaults_from"); defaults != nil {
		for _, e := range defaults.Entries {
			wanted = append(wanted, e.Value)
		}
	}
	made, known := earlierFields(p, n)
	for _, field := range wanted {
		if !known || field.Kind != yamldoc.Text || slices.Contains(made, first(field.Source)) {
			continue
		}
		hint := "if it is a field of the run's input, list it under requires: {$input: […]}"
		if near := nearest.Name(field.Source, made); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		d.Warnf(field.Pos, yamldoc.CodeNoProducer, hint, "no other node makes the field %q", field.Source)
	}
}

// earlierFields returns the fields that the artifacts of other nodes and the run's input may have. known is false if no
// node before n has an artifact, or if the fields of a node before n are open.
func earlierFields(p *plan.Plan, n *plan.Node) (made []string, known bool) {
	for i := range p.Nodes {
		other, before := &p.Nodes[i], i < p.Index(n.Path)
		for _, field := range other.Requires[plan.RequiresStart] {
			made = append(made, first(field))
		}
		if other.ID == n.ID {
			continue
		}
		f := artifactFields(other)
		if before && f.open {
			return nil, false
		}
		known = known || before && other.Artifact != nil
		made = append(made, f.possible...)
	}
	return made, known
}
