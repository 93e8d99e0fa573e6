package capability

import (
	"encoding/json"
	"slices"
	"strings"
)

// Key is one setting of a component.
type Key struct {
	// Name is its path: "judge.model" is the member model of the object judge.
	Name string
	// Type describes the allowed values: "integer, at least 0", "list of strings", "one of a, b".
	Type string
	// Default is the value that holds without the setting, as JSON; "" if the schema names none.
	Default string
	// Required: it cannot be left out.
	Required bool
	// Description is the schema's own; may be empty.
	Description string
	// Members are the names that the objects in a list, or beside other types, may have.
	Members []string
}

// deepest is how far objects within objects are followed.
const deepest = 3

// Keys are the settings that a JSON Schema (draft 2020-12) names, in its order; none for a schema without
// properties or one that is no JSON object.
func Keys(configSchema json.RawMessage) []Key {
	s := schema{root: object(configSchema)}
	return s.keys("", s.resolve(configSchema), deepest)
}

func (s schema) keys(prefix string, n node, depth int) []Key {
	var keys []Key
	var required []string
	for _, name := range n.list("required") {
		required = append(required, read[string](name))
	}
	for _, m := range object(n.get("properties")) {
		property := s.resolve(m.raw)
		key := Key{
			Name: prefix + m.name, Type: s.valueType(property, depth), Required: slices.Contains(required, m.name),
			Description: property.text("description"),
		}
		if d := property.get("default"); d != nil {
			key.Default = string(d)
		}
		within := object(property.get("properties"))
		if len(within) == 0 || depth == 0 {
			key.Members = s.members(property)
		}
		keys = append(keys, key)
		if len(within) > 0 && depth > 0 {
			keys = append(keys, s.keys(key.Name+".", property, depth-1)...)
		}
	}
	return keys
}

// members are the properties of the objects that a value may hold: as its items, as the values of a map,
// or as one of several types.
func (s schema) members(n node) []string {
	places := []json.RawMessage{n.get("items"), n.get("additionalProperties")}
	var names []string
	for _, place := range slices.Concat(places, n.list("anyOf"), n.list("oneOf")) {
		found := s.resolve(place)
		for _, m := range object(found.get("properties")) {
			if !slices.Contains(names, m.name) {
				names = append(names, m.name)
			}
		}
	}
	return names
}

const anyValue = "any value"

// valueType describes the values that a schema allows.
func (s schema) valueType(n node, depth int) string {
	if depth < 0 {
		return anyValue
	}
	if choices := n.list("enum"); len(choices) > 0 {
		return "one of " + words(choices)
	}
	if value := n.get("const"); value != nil {
		return "only " + word(value)
	}
	if choices := slices.Concat(n.list("anyOf"), n.list("oneOf")); len(choices) > 0 {
		var types []string
		for _, choice := range choices {
			if t := s.valueType(s.resolve(choice), depth-1); !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
		return alternatives(types)
	}
	types := read[[]string](n.get("type"))
	if t := n.text("type"); t != "" {
		types = []string{t}
	}
	for i, t := range types {
		types[i] = s.named(t, n, depth)
	}
	return orElse(alternatives(types), anyValue)
}

// alternatives joins types, with commas where one of them has some itself.
func alternatives(types []string) string {
	if slices.ContainsFunc(types, func(t string) bool { return strings.Contains(t, ", ") }) {
		return strings.Join(types, ", or ")
	}
	return strings.Join(types, " or ")
}

// named is one of JSON's types with its limits.
func (s schema) named(t string, n node, depth int) string {
	switch t {
	case "array":
		return "list" + s.elements(n.get("items"), depth)
	case "object":
		if values := n.get("additionalProperties"); object(values) != nil {
			return "map" + s.elements(values, depth)
		}
	case "integer", "number":
		return t + limits(n)
	case "boolean":
		return "true or false"
	}
	return t
}

// elements describes the members of a list or a map; "" where all are allowed.
func (s schema) elements(raw json.RawMessage, depth int) string {
	if object(raw) == nil {
		return ""
	}
	switch t := s.valueType(s.resolve(raw), depth-1); t {
	case anyValue:
		return ""
	case "string", "object", "integer", "number", "list", "map":
		return " of " + t + "s"
	default:
		return " (each: " + t + ")"
	}
}

func limits(n node) string {
	var text string
	for _, limit := range []struct{ name, words string }{
		{"minimum", "at least "}, {"exclusiveMinimum", "over "}, {"maximum", "at most "}, {"exclusiveMaximum", "under "},
	} {
		if value := read[json.Number](n.get(limit.name)); value != "" {
			text += ", " + limit.words + value.String()
		}
	}
	return text
}

func words(values []json.RawMessage) string {
	var all []string
	for _, v := range values {
		all = append(all, word(v))
	}
	return strings.Join(all, ", ")
}

// word is a value as it is written in YAML, as far as that is plain: strings without quotes.
func word(raw json.RawMessage) string { return orElse(read[string](raw), string(raw)) }
