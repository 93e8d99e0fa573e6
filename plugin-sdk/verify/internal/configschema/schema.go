package configschema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

func list(v any) []any { l, _ := v.([]any); return l }

// The forms that draft 2020-12 requires of its keywords. Other keywords accept any value.
var (
	schemaKeywords  = []string{"additionalProperties", "propertyNames", "items", "contains", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"}
	schemasKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	namedKeywords   = []string{"properties", "patternProperties", "$defs", "dependentSchemas"}
	countKeywords   = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
	numberKeywords  = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	textKeywords    = []string{"title", "description", "$schema", "$id", "$ref", "$anchor", "$comment", "format", "pattern"}
	flagKeywords    = []string{"uniqueItems", "deprecated", "readOnly", "writeOnly"}
	schemaTypes     = []any{"object", "array", "string", "number", "integer", "boolean", "null"}
)

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
	var faults []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		faults = append(faults, keywordFaults(at+"/"+key, key, object[key])...)
	}
	return faults
}

func keywordFaults(at, key string, value any) []string {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	members, isObject := value.(map[string]any)
	switch {
	case slices.Contains(schemaKeywords, key):
		return Faults(at, value)
	case slices.Contains(schemasKeywords, key):
		return schemasFaults(at, value)
	case slices.Contains(namedKeywords, key):
		if !isObject {
			return []string{at + " is not an object"}
		}
		return memberFaults(at, members)
	case key == "type":
		return typeFaults(at, value)
	case key == "required":
		return requiredFaults(at, value)
	case key == "enum" && len(list(value)) == 0:
		return []string{at + " is not a list of values"}
	case key == "pattern" && isText && !compiles(text):
		return []string{fmt.Sprintf("%s is not a regular expression: %q", at, text)}
	case slices.Contains(textKeywords, key) && !isText:
		return []string{at + " is not a string"}
	case slices.Contains(numberKeywords, key) && !isNumber:
		return []string{at + " is not a number"}
	case slices.Contains(countKeywords, key) && (!isNumber || number < 0 || number != float64(int64(number))):
		return []string{at + " is not a count"}
	case slices.Contains(flagKeywords, key):
		if _, ok := value.(bool); !ok {
			return []string{at + " is neither true nor false"}
		}
	}
	return nil
}

// compiles reports whether a pattern may be valid. It accepts patterns with syntax that only
// ECMA-262 has, such as lookahead.
func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil || strings.Contains(pattern, "(?") || strings.Contains(pattern, `\`)
}

func schemasFaults(at string, value any) []string {
	all := list(value)
	if len(all) == 0 {
		return []string{at + " is not a list of schemas"}
	}
	var faults []string
	for i, schema := range all {
		faults = append(faults, Faults(fmt.Sprintf("%s/%d", at, i), schema)...)
	}
	return faults
}

func memberFaults(at string, members map[string]any) []string {
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		faults = append(faults, Faults(at+"/"+name, members[name])...)
	}
	return faults
}

func typeFaults(at string, value any) []string {
	types := list(value)
	if text, ok := value.(string); ok {
		types = []any{text}
	}
	if len(types) == 0 {
		return []string{at + " is neither a type nor a list of types"}
	}
	for _, one := range types {
		if !slices.Contains(schemaTypes, one) {
			return []string{fmt.Sprintf("%s: %v is not a type of JSON Schema", at, one)}
		}
	}
	return nil
}

func requiredFaults(at string, value any) []string {
	names, ok := value.([]any)
	if !ok {
		return []string{at + " is not a list of names"}
	}
	for _, name := range names {
		if _, ok := name.(string); !ok {
			return []string{fmt.Sprintf("%s: %v is not a name", at, name)}
		}
	}
	return nil
}
