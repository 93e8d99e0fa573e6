package capability

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Key is one setting of a component.
type Key struct {
	// Name is the setting's path: "judge.model" is the member model of the object judge.
	Name string
	// Type describes the allowed values: "integer, at least 0", "list of strings", "one of a, b".
	Type string
	// Default is the value that applies if the setting is missing, as JSON; "" if the schema names none.
	Default string
	// Required reports that the setting cannot be left out.
	Required bool
	// Description is the schema's description; it may be empty.
	Description string
	// Members lists the names of the members of objects in a list, in a map or among several types.
	Members []string
}

// deepest is the number of levels to which nested objects are followed.
const deepest = 3

// Keys returns the settings that a JSON Schema (draft 2020-12) names, sorted by name. It returns none for a schema without
// properties or for invalid JSON Schema.
func Keys(configSchema json.RawMessage) []Key {
	var root jsonschema.Schema
	if json.Unmarshal(configSchema, &root) != nil {
		return nil
	}
	s := schema{definitions: root.Defs}
	return s.keys("", s.resolve(&root), deepest)
}

// schema is a schema whose parts may refer to its definitions.
type schema struct{ definitions map[string]*jsonschema.Schema }

// resolve returns a part of the schema with the definitions that it refers to, directly or through other definitions;
// its own description and default take precedence. A reference to anything else allows any value.
func (s schema) resolve(n *jsonschema.Schema) *jsonschema.Schema {
	if n == nil {
		return &jsonschema.Schema{}
	}
	const longest = 8 // a definition may refer to itself
	resolved := *n
	for i := 0; i < longest && resolved.Ref != ""; i++ {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(resolved.Ref, "#/$defs/"))
		own := resolved
		resolved = jsonschema.Schema{}
		if definition := s.definitions[name]; definition != nil {
			resolved = *definition
		}
		resolved.Description = cmp.Or(own.Description, resolved.Description)
		if own.Default != nil {
			resolved.Default = own.Default
		}
	}
	return &resolved
}

func (s schema) keys(prefix string, n *jsonschema.Schema, depth int) []Key {
	var keys []Key
	for _, name := range names(n) {
		property := s.resolve(n.Properties[name])
		key := Key{
			Name: prefix + name, Type: s.valueType(property, depth), Default: string(property.Default),
			Required: slices.Contains(n.Required, name), Description: property.Description,
		}
		within := len(property.Properties) > 0 && depth > 0
		if !within {
			key.Members = s.members(property)
		}
		keys = append(keys, key)
		if within {
			keys = append(keys, s.keys(key.Name+".", property, depth-1)...)
		}
	}
	return keys
}

func names(n *jsonschema.Schema) []string { return slices.Sorted(maps.Keys(n.Properties)) }

// members returns the names of members of the objects that a list holds, that a map holds, or that are one of several
// types.
func (s schema) members(n *jsonschema.Schema) []string {
	var all []string
	for _, part := range slices.Concat([]*jsonschema.Schema{n.Items, n.AdditionalProperties}, n.AnyOf, n.OneOf) {
		all = append(all, names(s.resolve(part))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const anyValue = "any value"

// valueType describes the values that a part of the schema allows.
func (s schema) valueType(n *jsonschema.Schema, depth int) string {
	if depth < 0 {
		return anyValue
	}
	if len(n.Enum) > 0 {
		return "one of " + words(n.Enum)
	}
	if n.Const != nil {
		return "only " + words([]any{*n.Const})
	}
	var types []string
	for _, choice := range slices.Concat(n.AnyOf, n.OneOf) {
		if t := s.valueType(s.resolve(choice), depth-1); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) > 0 {
		return alternatives(types)
	}
	for _, t := range slices.DeleteFunc(append([]string{n.Type}, n.Types...), func(t string) bool { return t == "" }) {
		types = append(types, s.named(t, n, depth))
	}
	return cmp.Or(alternatives(types), anyValue)
}

// alternatives joins types with "or", after a comma if a type contains a comma.
func alternatives(types []string) string {
	if slices.ContainsFunc(types, func(t string) bool { return strings.Contains(t, ", ") }) {
		return strings.Join(types, ", or ")
	}
	return strings.Join(types, " or ")
}

// named describes one of JSON's types with its limits.
func (s schema) named(t string, n *jsonschema.Schema, depth int) string {
	switch t {
	case "array":
		return "list" + s.elements(n.Items, depth)
	case "object":
		if values := n.AdditionalProperties; values != nil && values.Not == nil { // false is the schema that allows nothing
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
func (s schema) elements(n *jsonschema.Schema, depth int) string {
	switch t := s.valueType(s.resolve(n), depth-1); t {
	case anyValue:
		return ""
	case "string", "object", "integer", "number", "list", "map":
		return " of " + t + "s"
	default:
		return " (each: " + t + ")"
	}
}

func limits(n *jsonschema.Schema) string {
	var text string
	for _, limit := range []struct {
		value *float64
		words string
	}{{n.Minimum, "at least "}, {n.ExclusiveMinimum, "over "}, {n.Maximum, "at most "}, {n.ExclusiveMaximum, "under "}} {
		if limit.value != nil {
			text += ", " + limit.words + strconv.FormatFloat(*limit.value, 'f', -1, 64)
		}
	}
	return text
}

// words returns JSON values as shown text: texts without quotes.
func words(values []any) string {
	var all []string
	for _, v := range values {
		word, isText := v.(string)
		if !isText {
			text, _ := json.Marshal(v) // it was read from JSON
			word = string(text)
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}
