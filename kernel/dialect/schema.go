package dialect

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a file, indented, with a trailing newline. It accepts every
// document that the kernel accepts. It rejects wrong types, choices, bounds and missing keys, unless they depend
// on other files or other values. For numbers written as text it checks only the form.
func (m *Object) Schema(id string) ([]byte, error) { return encodeSchema(m.fileSchema(id)) }

// fileSchema returns the schema of a whole file.
func (m *Object) fileSchema(id string) schema {
	defs := schema{}
	for _, inner := range m.All() {
		if inner != m {
			defs[inner.Name] = inner.objectSchema()
		}
	}
	whole := m.objectSchema()
	whole["$schema"], whole["$id"], whole["title"], whole["$defs"] = "https://json-schema.org/draft/2020-12/schema", id, m.title(), defs
	whole["type"] = position{strict: m.Strict, notNull: !m.Strict}.types("object")
	return whole
}

func (m *Object) title() string { return "agent-pipelines: " + m.Name }

// encodeSchema renders a schema with indentation.
func encodeSchema(s schema) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return out.Bytes(), err
}

// All returns the map and its nested maps, each once, the outer ones first.
func (m *Object) All() []*Object {
	all := []*Object{m}
	for i := 0; i < len(all); i++ {
		for _, k := range all[i].Fields {
			for _, inner := range k.Value.objects() {
				if !slices.Contains(all, inner) {
					all = append(all, inner)
				}
			}
		}
	}
	return all
}

// objects returns the maps that the value may contain.
func (v Value) objects() []*Object {
	switch v.Type {
	case Nested:
		return []*Object{v.Object}
	case List, MapOf:
		return v.Item.objects()
	case OneOf:
		var all []*Object
		for _, f := range v.Forms {
			all = append(all, f.objects()...)
		}
		return all
	default:
		return nil
	}
}

// objectSchema returns the schema of the map without its type, which depends on the position.
func (m *Object) objectSchema() schema {
	properties, rules := schema{}, slices.Clone(m.rules)
	var required []string
	for _, k := range m.Fields {
		holds := k.Value.schema(position{strict: m.Strict, notNull: k.Required || k.Value.NotNull, nonEmpty: k.Required})
		var when schema
		if when = k.condition; k.After != "" {
			when = allOf(when, not(present(k.After)))
		}
		if when != nil {
			rules = append(rules, schema{"if": when, "then": schema{"properties": schema{k.Name: holds}}})
			holds = schema{}
		}
		holds = maps.Clone(holds)
		holds["description"] = k.describe()
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
	case Refused:
		body["patternProperties"] = schema{"^x-": true}
		body["additionalProperties"] = false
	case RefusedAll:
		body["additionalProperties"] = false
	}
	return body
}

// describe returns the description that editors show.
func (k Field) describe() string {
	if k.Default == "" {
		return k.Doc
	}
	return k.Doc + " Default: " + k.Default + "."
}

// position is the position of a value: in a strict map; where null is not allowed; where a text must not be empty.
type position struct{ strict, notNull, nonEmpty bool }

// types returns the types of a value at the position, with those of an absent value if it may be absent.
func (p position) types(types ...string) any {
	switch {
	case p.notNull && len(types) == 1:
		return types[0]
	case p.notNull:
		return types
	case p.strict:
		return append(types, "null")
	default:
		return append(types, "null", "string")
	}
}

// numericPattern matches a number written as text.
const numericPattern = `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?0[xX][0-9a-fA-F_.]+[pP][+-]?[0-9]+`

// sizePattern matches a number of bytes with an optional unit.
const sizePattern = `\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?([bB]|[kKmMgGtT]([iI]?[bB])?)?\s*`

func anchored(pattern string) string { return "^(?:" + pattern + ")$" }

// schema returns the value's schema at a position.
func (v Value) schema(p position) schema {
	switch v.Type {
	case Any:
		return schema{}
	case Text:
		return v.textSchema(p)
	case String:
		return v.stringSchema(p)
	case Choice:
		return v.choiceSchema(p)
	case Number, Integer, Size:
		return v.numberSchema(p)
	case Boolean:
		return allowEmptyText(schema{"type": p.types("boolean")}, p)
	case False:
		return schema{"const": false}
	case List:
		return v.listSchema(p)
	case MapOf:
		return v.mapSchema(p)
	case Nested:
		return allowEmptyText(schema{"type": p.types("object"), "$ref": "#/$defs/" + v.Object.Name}, p)
	default:
		return v.formsSchema(p)
	}
}

// allowEmptyText also allows an empty text if the value may be absent.
func allowEmptyText(s schema, p position) schema {
	if !p.notNull && !p.strict {
		s["maxLength"] = 0
	}
	return s
}

func (v Value) textSchema(p position) schema {
	types := []string{"string"}
	if !p.strict {
		types = append(types, "number", "boolean")
	}
	if !p.notNull {
		types = append(types, "null")
	}
	s := schema{"type": types}
	pattern := v.Pattern
	switch {
	case pattern != "" && p.notNull:
		s["pattern"] = anchored("(?:" + pattern + `)\n*`)
	case pattern != "":
		s["pattern"] = anchored("(?:" + pattern + `)?\n*`)
	case p.nonEmpty:
		s["pattern"] = `[^\n]`
	}
	return s
}

func (v Value) stringSchema(p position) schema {
	s := schema{"type": "string"}
	if !p.notNull {
		s["type"] = []string{"string", "null"}
	}
	switch {
	case v.Pattern == "":
	case p.notNull || p.strict:
		s["pattern"] = anchored(v.Pattern)
	default:
		s["pattern"] = anchored("(?:" + v.Pattern + ")?")
	}
	return s
}

func (v Value) choiceSchema(p position) schema {
	var enum []any
	for _, w := range v.Choices {
		enum = append(enum, w)
	}
	if !p.notNull {
		enum = append(enum, nil)
		if !p.strict {
			enum = append(enum, "")
		}
	}
	if v.Exact {
		return schema{"enum": enum}
	}
	quoted := make([]string, len(v.Choices))
	for i, w := range v.Choices {
		quoted[i] = regexp.QuoteMeta(w)
	}
	withNewlines := schema{"type": "string", "pattern": "^(?:" + strings.Join(quoted, "|") + `)?\n+$`}
	return schema{"anyOf": []any{schema{"enum": enum}, withNewlines}}
}

// numberSchema returns the schema of a number, or of a text that is a number.
func (v Value) numberSchema(p position) schema {
	numberType, pattern := "number", numericPattern
	switch v.Type {
	case Integer:
		numberType = "integer"
	case Size:
		pattern = sizePattern
	}
	s := schema{}
	switch {
	case v.Type != Size && p.strict:
		s["type"] = p.types(numberType)
	case p.notNull:
		s["type"], s["pattern"] = []string{numberType, "string"}, anchored(pattern)
	case p.strict:
		s["type"], s["pattern"] = []string{numberType, "string", "null"}, anchored(pattern)
	default:
		s["type"], s["pattern"] = []string{numberType, "string", "null"}, anchored("(?:"+pattern+")?")
	}
	for keyword, bound := range map[string]*float64{"minimum": v.Least, "exclusiveMinimum": v.Above, "maximum": v.Most} {
		if bound != nil {
			s[keyword] = *bound
		}
	}
	return s
}

func (v Value) listSchema(p position) schema {
	s := allowEmptyText(schema{"type": p.types("array"), "items": v.Item.schema(position{strict: p.strict, notNull: true})}, p)
	if v.NonEmpty {
		s["minItems"] = 1
	}
	return s
}

func (v Value) mapSchema(p position) schema {
	s := allowEmptyText(schema{"type": p.types("object"), "additionalProperties": v.Item.schema(position{strict: p.strict, notNull: !v.PassThrough})}, p)
	if v.NonEmpty {
		s["minProperties"] = 1
	}
	if v.NoEmptyKey {
		s["propertyNames"] = schema{"minLength": 1}
	}
	return s
}

func (v Value) formsSchema(p position) schema {
	var all []any
	for _, f := range v.Forms {
		all = append(all, f.schema(position{strict: p.strict, notNull: true, nonEmpty: p.nonEmpty}))
	}
	switch {
	case p.notNull:
	case p.strict:
		all = append(all, schema{"type": "null"})
	default:
		all = append(all, schema{"enum": []any{nil, ""}})
	}
	return schema{"anyOf": all}
}

// runsMatch matches the maps whose key runs has such a value.
func runsMatch(v Value) schema {
	return schema{"properties": schema{"runs": v.schema(position{})}}
}
