package dialect

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of a file, indented, with a line end. It takes each document that the kernel
// takes, and refuses what the kernel refuses for the type of a value, a word, a bound or a key that is missing, as far
// as that does not hang on other files or on what else the document says. Numbers that are written as text are held to
// their form alone.
func (m *Object) Schema(id string) ([]byte, error) { return render(m.document(id)) }

// document is the schema of a whole file.
func (m *Object) document(id string) schema {
	defs := schema{}
	for _, inner := range m.All() {
		if inner != m {
			defs[inner.Name] = inner.body()
		}
	}
	whole := m.body()
	whole["$schema"], whole["$id"], whole["title"], whole["$defs"] = "https://json-schema.org/draft/2020-12/schema", id, m.title(), defs
	whole["type"] = position{strict: m.Strict, valued: !m.Strict}.types("object")
	return whole
}

func (m *Object) title() string { return "agent-pipelines: " + m.Name }

// render writes a schema as people read it.
func render(s schema) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return out.Bytes(), err
}

// All are the map and those that may stand in it, each once, the outer ones first.
func (m *Object) All() []*Object {
	all := []*Object{m}
	for i := 0; i < len(all); i++ {
		for _, k := range all[i].Keys {
			for _, inner := range k.Holds.maps() {
				if !slices.Contains(all, inner) {
					all = append(all, inner)
				}
			}
		}
	}
	return all
}

// maps are those that the value may hold.
func (v Value) maps() []*Object {
	switch v.Type {
	case Inner:
		return []*Object{v.Map}
	case List, Named:
		return v.Item.maps()
	case Forms:
		var all []*Object
		for _, f := range v.Forms {
			all = append(all, f.maps()...)
		}
		return all
	default:
		return nil
	}
}

// body is the schema of the map without its type, which differs by the place that it stands in.
func (m *Object) body() schema {
	properties, rules := schema{}, slices.Clone(m.rules)
	var required []string
	for _, k := range m.Keys {
		holds := k.Holds.schema(position{strict: m.Strict, valued: k.Required || k.Holds.Valued, said: k.Required})
		var when schema
		if when = k.only; k.After != "" {
			when = allOf(when, not(said(k.After)))
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
	switch m.Other {
	case Refused:
		body["patternProperties"] = schema{"^x-": true}
		body["additionalProperties"] = false
	case RefusedAll:
		body["additionalProperties"] = false
	}
	return body
}

// describe is what editors show of a key.
func (k Field) describe() string {
	if k.Default == "" {
		return k.Doc
	}
	return k.Doc + " Default: " + k.Default + "."
}

// position is where a value stands: in a map that is read strictly or not; where there must be a value; where a
// text must say something.
type position struct{ strict, valued, said bool }

// types are the types of a value there: with those of no value, where there need not be one.
func (p position) types(types ...string) any {
	switch {
	case p.valued && len(types) == 1:
		return types[0]
	case p.valued:
		return types
	case p.strict:
		return append(types, "null")
	default:
		return append(types, "null", "string")
	}
}

// numericPattern is a number that is written as text.
const numericPattern = `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?0[xX][0-9a-fA-F_.]+[pP][+-]?[0-9]+`

// sizePattern is a number of bytes with a unit, or without one.
const sizePattern = `\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?([bB]|[kKmMgGtT]([iI]?[bB])?)?\s*`

func whole(pattern string) string { return "^(?:" + pattern + ")$" }

// schema is the value's schema at a position.
func (v Value) schema(p position) schema {
	switch v.Type {
	case Any:
		return schema{}
	case Text:
		return v.text(p)
	case String:
		return v.exactText(p)
	case Words:
		return v.word(p)
	case Number, Whole, Size:
		return v.number(p)
	case Flag:
		return vacant(schema{"type": p.types("boolean")}, p)
	case False:
		return schema{"const": false}
	case List:
		return v.list(p)
	case Named:
		return v.named(p)
	case Inner:
		return vacant(schema{"type": p.types("object"), "$ref": "#/$defs/" + v.Map.Name}, p)
	default:
		return v.forms(p)
	}
}

// vacant lets a text stand there where it is empty.
func vacant(s schema, p position) schema {
	if !p.valued && !p.strict {
		s["maxLength"] = 0
	}
	return s
}

func (v Value) text(p position) schema {
	types := []string{"string"}
	if !p.strict {
		types = append(types, "number", "boolean")
	}
	if !p.valued {
		types = append(types, "null")
	}
	s := schema{"type": types}
	pattern := v.Pattern
	switch {
	case pattern != "" && p.valued:
		s["pattern"] = whole("(?:" + pattern + `)\n*`)
	case pattern != "":
		s["pattern"] = whole("(?:" + pattern + `)?\n*`)
	case p.said:
		s["pattern"] = `[^\n]`
	}
	return s
}

func (v Value) exactText(p position) schema {
	s := schema{"type": "string"}
	if !p.valued {
		s["type"] = []string{"string", "null"}
	}
	switch {
	case v.Pattern == "":
	case p.valued || p.strict:
		s["pattern"] = whole(v.Pattern)
	default:
		s["pattern"] = whole("(?:" + v.Pattern + ")?")
	}
	return s
}

func (v Value) word(p position) schema {
	var enum []any
	for _, w := range v.Words {
		enum = append(enum, w)
	}
	if !p.valued {
		enum = append(enum, nil)
		if !p.strict {
			enum = append(enum, "")
		}
	}
	if v.Exact {
		return schema{"enum": enum}
	}
	quoted := make([]string, len(v.Words))
	for i, w := range v.Words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	behind := schema{"type": "string", "pattern": "^(?:" + strings.Join(quoted, "|") + `)?\n+$`}
	return schema{"anyOf": []any{schema{"enum": enum}, behind}}
}

// number is a number, or a text that is one.
func (v Value) number(p position) schema {
	of, pattern := "number", numericPattern
	switch v.Type {
	case Whole:
		of = "integer"
	case Size:
		pattern = sizePattern
	}
	s := schema{}
	switch {
	case v.Type != Size && p.strict:
		s["type"] = p.types(of)
	case p.valued:
		s["type"], s["pattern"] = []string{of, "string"}, whole(pattern)
	case p.strict:
		s["type"], s["pattern"] = []string{of, "string", "null"}, whole(pattern)
	default:
		s["type"], s["pattern"] = []string{of, "string", "null"}, whole("(?:"+pattern+")?")
	}
	for word, bound := range map[string]*float64{"minimum": v.Least, "exclusiveMinimum": v.Above, "maximum": v.Most} {
		if bound != nil {
			s[word] = *bound
		}
	}
	return s
}

func (v Value) list(p position) schema {
	s := vacant(schema{"type": p.types("array"), "items": v.Item.schema(position{strict: p.strict, valued: true})}, p)
	if v.Filled {
		s["minItems"] = 1
	}
	return s
}

func (v Value) named(p position) schema {
	s := vacant(schema{"type": p.types("object"), "additionalProperties": v.Item.schema(position{strict: p.strict, valued: !v.PassThrough})}, p)
	if v.Filled {
		s["minProperties"] = 1
	}
	if v.NoBlank {
		s["propertyNames"] = schema{"minLength": 1}
	}
	return s
}

func (v Value) forms(p position) schema {
	var all []any
	for _, f := range v.Forms {
		all = append(all, f.schema(position{strict: p.strict, valued: true, said: p.said}))
	}
	switch {
	case p.valued:
	case p.strict:
		all = append(all, schema{"type": "null"})
	default:
		all = append(all, schema{"enum": []any{nil, ""}})
	}
	return schema{"anyOf": all}
}
