package configschema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var types = []any{"object", "array", "string", "number", "integer", "boolean", "null"}

// Faults returns the keywords of a schema and its subschemas whose values have the wrong
// form.
func Faults(at string, schema any) []string {
	if _, ok := schema.(bool); ok {
		return nil
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return []string{at + " is neither an object nor a boolean"}
	}
	return each(at, object, func(at, key string, value any) []string {
		if fault := keywordFault(key, value); fault != "" {
			return []string{at + fault}
		}
		return subschemaFaults(at, key, value)
	})
}

// each returns the faults of the members of an object in the order of their names.
func each(at string, object map[string]any, check func(at, name string, value any) []string) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		faults = append(faults, check(at+"/"+name, name, object[name])...)
	}
	return faults
}

// subschemaFaults returns the faults of the schemas that a keyword holds.
func subschemaFaults(at, key string, value any) []string {
	switch key {
	case "additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else",
		"unevaluatedItems", "unevaluatedProperties":
		return Faults(at, value)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		var faults []string
		for i, schema := range value.([]any) {
			faults = append(faults, Faults(fmt.Sprintf("%s/%d", at, i), schema)...)
		}
		return faults
	case "properties", "patternProperties", "$defs", "dependentSchemas":
		return each(at, value.(map[string]any), func(at, _ string, schema any) []string { return Faults(at, schema) })
	}
	return nil
}

// keywordFault returns the fault in the form of a keyword's value itself, "" for none. The forms
// are those of draft 2020-12. A keyword without a case accepts any value.
func keywordFault(key string, value any) string {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	list, isList := value.([]any)
	ok, want := true, ""
	switch key {
	case "allOf", "anyOf", "oneOf", "prefixItems":
		ok, want = len(list) > 0, "a list of schemas"
	case "properties", "patternProperties", "$defs", "dependentSchemas":
		_, ok = value.(map[string]any)
		want = "an object"
	case "enum":
		ok, want = len(list) > 0, "a list of values"
	case "pattern":
		if isText && !compiles(text) {
			return fmt.Sprintf(" is not a regular expression: %q", text)
		}
		ok, want = isText, "a string"
	case "title", "description", "$schema", "$id", "$ref", "$anchor", "$comment", "format":
		ok, want = isText, "a string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		ok, want = isNumber, "a number"
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		ok, want = isNumber && number >= 0 && number == float64(int64(number)), "a count"
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		_, ok = value.(bool)
		want = "a boolean"
	case "type":
		if isText {
			list = []any{value}
		}
		if other := slices.IndexFunc(list, func(one any) bool { return !slices.Contains(types, one) }); other >= 0 {
			return fmt.Sprintf(": %v is not a type of JSON Schema", list[other])
		}
		ok, want = len(list) > 0, "a type or a list of types"
	case "required":
		if other := slices.IndexFunc(list, func(one any) bool { _, ok := one.(string); return !ok }); other >= 0 {
			return fmt.Sprintf(": %v is not a name", list[other])
		}
		ok, want = isList, "a list of names"
	}
	if ok {
		return ""
	}
	return " is not " + want
}

// compiles reports whether a pattern may be valid. It accepts patterns with syntax that only
// ECMA-262 has, such as lookahead.
func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil || strings.Contains(pattern, "(?") || strings.Contains(pattern, `\`)
}
