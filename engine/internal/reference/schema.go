package reference

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
)

// Files returns the files of the dialect, in the order of the reference.
func Files() []*dialect.Object {
	return []*dialect.Object{&dialect.Pipeline, &dialect.Stage, &settings.ConfigTable}
}

// Schema returns the JSON Schema (draft 2020-12) of a file, indented, with a trailing newline. It accepts every
// document that the kernel accepts. It rejects wrong types, choices, bounds and missing keys, unless they depend
// on other files or other values. For numbers written as text it checks only the form.
func Schema(m *dialect.Object, id string) ([]byte, error) {
	defs := schema{}
	for _, inner := range Objects(m) {
		if inner != m {
			defs[inner.Name] = objectSchema(inner)
		}
	}
	whole := objectSchema(m)
	whole["$schema"], whole["$id"], whole["title"], whole["$defs"] = "https://json-schema.org/draft/2020-12/schema", id, "agent-pipelines: "+m.Name, defs
	whole["type"] = "object"
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(whole)
	return out.Bytes(), err
}

// Objects returns the map and its nested maps, each once, the outer ones first.
func Objects(m *dialect.Object) []*dialect.Object {
	all := []*dialect.Object{m}
	for i := 0; i < len(all); i++ {
		for _, k := range all[i].Fields {
			for _, inner := range nestedObjects(k.Value) {
				if !slices.Contains(all, inner) {
					all = append(all, inner)
				}
			}
		}
	}
	return all
}

// nestedObjects returns the maps that the value may contain.
func nestedObjects(v dialect.Value) []*dialect.Object {
	switch v.Type {
	case dialect.Nested:
		return []*dialect.Object{v.Object}
	case dialect.List, dialect.MapOf:
		return nestedObjects(*v.Item)
	case dialect.OneOf:
		var all []*dialect.Object
		for _, f := range v.Forms {
			all = append(all, nestedObjects(f)...)
		}
		return all
	default:
		return nil
	}
}

// objectSchema returns the schema of the map without its type, which depends on the position.
func objectSchema(m *dialect.Object) schema {
	properties, rules := schema{}, keyRules(m)
	var required []string
	for _, k := range m.Fields {
		holds := valueSchema(k.Value, position{notNull: k.Required || k.Value.NotNull, nonEmpty: k.Required})
		var when schema
		if when = readCondition(m, k.Name); k.After != "" {
			when = allOf(when, not(present(k.After)))
		}
		if when != nil {
			rules = append(rules, schema{"if": when, "then": schema{"properties": schema{k.Name: holds}}})
			holds = schema{}
		}
		holds = maps.Clone(holds)
		holds["description"] = describe(k)
		properties[k.Name] = holds
		if k.Required {
			required = append(required, k.Name)
		}
	}
	body := schema{"description": m.Doc, "properties": properties}
	if len(required) > 0 {
		body["required"] = required
	}
	if len(rules) > 0 {
		body["allOf"] = rules
	}
	switch m.Unknown {
	case dialect.Refused:
		body["patternProperties"] = schema{"^x-": true}
		body["additionalProperties"] = false
	case dialect.RefusedAll:
		body["additionalProperties"] = false
	}
	return body
}

// describe returns the description that editors show.
func describe(k dialect.Field) string {
	if k.Default == "" {
		return k.Doc
	}
	return k.Doc + " Default: " + k.Default + "."
}
