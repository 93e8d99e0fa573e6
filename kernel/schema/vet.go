package schema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// holds says what the value of a keyword is made of.
type holds int

const (
	plain   holds = iota // no schema
	one                  // a schema
	list                 // a list of schemas
	members              // a map whose values are schemas
)

// keywords are those of draft 2020-12 (https://json-schema.org/draft/2020-12), with the older name of $defs.
var keywords = map[string]holds{
	"$id": plain, "$schema": plain, "$ref": plain, "$anchor": plain, "$dynamicRef": plain, "$dynamicAnchor": plain, "$comment": plain,
	"type": plain, "enum": plain, "const": plain, "multipleOf": plain, "maximum": plain, "exclusiveMaximum": plain,
	"minimum": plain, "exclusiveMinimum": plain, "maxLength": plain, "minLength": plain, "pattern": plain, "maxItems": plain,
	"minItems": plain, "uniqueItems": plain, "maxContains": plain, "minContains": plain, "maxProperties": plain,
	"minProperties": plain, "required": plain, "dependentRequired": plain, "format": plain, "contentEncoding": plain,
	"contentMediaType": plain, "title": plain, "description": plain, "default": plain, "deprecated": plain,
	"readOnly": plain, "writeOnly": plain, "examples": plain,
	"items": one, "contains": one, "additionalProperties": one, "unevaluatedItems": one, "unevaluatedProperties": one,
	"propertyNames": one, "not": one, "if": one, "then": one, "else": one, "contentSchema": one,
	"prefixItems": list, "allOf": list, "anyOf": list, "oneOf": list,
	"$defs": members, "definitions": members, "properties": members, "patternProperties": members, "dependentSchemas": members,
}

// formats are those that are checked.
var formats = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "iri", "iri-reference", "json-pointer", "period",
	"regex", "relative-json-pointer", "semver", "time", "uri", "uri-reference", "uri-template", "uuid",
}

// draft is the one that is understood.
const draft = "https://json-schema.org/draft/2020-12/schema"

// vetting looks for what the library would take in silence.
type vetting struct {
	root     any
	anchors  []string
	problems Problems
}

// vet finds words that check nothing and references that lead out of the schema or to nothing.
func vet(root any) Problems {
	v := vetting{root: root}
	walk(root, nil, v.anchor)
	walk(root, nil, v.check)
	return v.problems
}

// walk visits every schema in order of the keys.
func walk(value any, path []string, visit func(schema map[string]any, path []string)) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(schema, path)
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		at := append(slices.Clone(path), key)
		switch inner := schema[key]; keywords[key] {
		case one:
			walk(inner, at, visit)
		case list:
			items, _ := inner.([]any)
			for i, item := range items {
				walk(item, append(slices.Clone(at), strconv.Itoa(i)), visit)
			}
		case members:
			of, _ := inner.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(of)) {
				walk(of[name], append(slices.Clone(at), name), visit)
			}
		}
	}
}

func (v *vetting) anchor(schema map[string]any, _ []string) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := schema[key].(string); ok {
			v.anchors = append(v.anchors, name)
		}
	}
}

func (v *vetting) problem(path []string, key, hint, format string, args ...any) {
	v.problems = append(v.problems, Problem{append(slices.Clone(path), key), fmt.Sprintf(format, args...), hint})
}

// check looks at the words of one schema.
func (v *vetting) check(schema map[string]any, path []string) {
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		if _, known := keywords[key]; !known && !strings.HasPrefix(key, "x-") {
			v.problem(path, key, meant(key, slices.Collect(maps.Keys(keywords))), "unknown keyword %q", key)
		}
		word, _ := schema[key].(string)
		switch {
		case word == "":
		case key == "$ref" || key == "$dynamicRef":
			v.reference(word, path, key)
		case key == "$id" && len(path) > 0:
			v.problem(path, key, "use $anchor", "$id may stand at the root of a schema only")
		case key == "$schema" && strings.TrimSuffix(word, "#") != draft:
			v.problem(path, key, "write the schema for "+draft, "draft %q is not supported", word)
		case key == "format" && !slices.Contains(formats, word):
			v.problem(path, key, meant(word, formats), "unknown format %q", word)
		}
	}
}

// reference checks that a $ref leads somewhere inside the schema.
func (v *vetting) reference(ref string, path []string, key string) {
	fragment, local := strings.CutPrefix(ref, "#")
	switch pointer, isPointer := strings.CutPrefix(fragment, "/"); {
	case !local:
		v.problem(path, key, `copy it to $defs and write "#/$defs/…"`, "%s leads out of the schema: %q, and nothing is fetched", key, ref)
	case fragment == "" || slices.Contains(v.anchors, fragment):
	case !isPointer || !v.exists(pointer):
		v.problem(path, key, "", "%s leads nowhere: %q", key, ref)
	}
}

// exists follows a JSON pointer (RFC 6901) as it stands in a URL fragment.
func (v *vetting) exists(pointer string) bool {
	text, err := url.PathUnescape(pointer)
	if err != nil {
		return false
	}
	tokens := strings.Split(text, "/")
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	switch within(v.root, tokens).(type) {
	case map[string]any, bool:
		return true
	default:
		return false
	}
}

// meant is the hint for a word that is none of ours.
func meant(word string, known []string) string {
	if near := nearest.Name(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
