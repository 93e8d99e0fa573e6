package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// keywordKind is the kind of a keyword's value.
type keywordKind int

const (
	noSchema   keywordKind = iota // no schema
	oneSchema                     // a schema
	schemaList                    // a list of schemas
	schemaMap                     // a map whose values are schemas
)

// keywords are the keywords of draft 2020-12 (https://json-schema.org/draft/2020-12), with the older name of $defs.
var keywords = map[string]keywordKind{
	"$id": noSchema, "$schema": noSchema, "$ref": noSchema, "$anchor": noSchema, "$dynamicRef": noSchema, "$dynamicAnchor": noSchema, "$comment": noSchema,
	"type": noSchema, "enum": noSchema, "const": noSchema, "multipleOf": noSchema, "maximum": noSchema, "exclusiveMaximum": noSchema,
	"minimum": noSchema, "exclusiveMinimum": noSchema, "maxLength": noSchema, "minLength": noSchema, "pattern": noSchema, "maxItems": noSchema,
	"minItems": noSchema, "uniqueItems": noSchema, "maxContains": noSchema, "minContains": noSchema, "maxProperties": noSchema,
	"minProperties": noSchema, "required": noSchema, "dependentRequired": noSchema, "format": noSchema, "contentEncoding": noSchema,
	"contentMediaType": noSchema, "title": noSchema, "description": noSchema, "default": noSchema, "deprecated": noSchema,
	"readOnly": noSchema, "writeOnly": noSchema, "examples": noSchema,
	"items": oneSchema, "contains": oneSchema, "additionalProperties": oneSchema, "unevaluatedItems": oneSchema, "unevaluatedProperties": oneSchema,
	"propertyNames": oneSchema, "not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema, "contentSchema": oneSchema,
	"prefixItems": schemaList, "allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList,
	"$defs": schemaMap, "definitions": schemaMap, "properties": schemaMap, "patternProperties": schemaMap, "dependentSchemas": schemaMap,
}

// formats are the formats that are checked.
var formats = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "iri", "iri-reference", "json-pointer", "period",
	"regex", "relative-json-pointer", "semver", "time", "uri", "uri-reference", "uri-template", "uuid",
}

// draft is the only supported draft.
const draft = "https://json-schema.org/draft/2020-12/schema"

// vetter finds faults that the library ignores.
type vetter struct {
	root     any
	anchors  []string
	problems Problems
}

// vet reports unknown keywords, drafts and formats, and references that leave the schema or have no target.
func vet(root any) Problems {
	v := vetter{root: root}
	walk(root, nil, v.addAnchor)
	walk(root, nil, v.checkKeywords)
	return v.problems
}

// walk visits every schema, in the order of the keys.
func walk(value any, path []string, visit func(schema map[string]any, path []string)) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	visit(schema, path)
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		at := append(slices.Clone(path), key)
		switch inner := schema[key]; keywords[key] {
		case oneSchema:
			walk(inner, at, visit)
		case schemaList:
			items, _ := inner.([]any)
			for i, item := range items {
				walk(item, append(slices.Clone(at), strconv.Itoa(i)), visit)
			}
		case schemaMap:
			schemas, _ := inner.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(schemas)) {
				walk(schemas[name], append(slices.Clone(at), name), visit)
			}
		}
	}
}

func (v *vetter) addAnchor(schema map[string]any, _ []string) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := schema[key].(string); ok {
			v.anchors = append(v.anchors, name)
		}
	}
}

func (v *vetter) report(path []string, key, hint, format string, args ...any) {
	v.problems = append(v.problems, Problem{append(slices.Clone(path), key), fmt.Sprintf(format, args...), hint})
}

// checkKeywords checks the keywords of one schema.
func (v *vetter) checkKeywords(schema map[string]any, path []string) {
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		if _, known := keywords[key]; !known && !strings.HasPrefix(key, "x-") {
			v.report(path, key, suggestion(key, slices.Collect(maps.Keys(keywords))), "unknown keyword %q", key)
		}
		word, _ := schema[key].(string)
		switch {
		case word == "":
		case key == "$ref" || key == "$dynamicRef":
			v.checkReference(word, path, key)
		case key == "$id" && len(path) > 0:
			v.report(path, key, "use $anchor", "$id is only allowed at the root of a schema")
		case key == "$schema" && strings.TrimSuffix(word, "#") != draft:
			v.report(path, key, "write the schema for "+draft, "draft %q is not supported", word)
		case key == "format" && !slices.Contains(formats, word):
			v.report(path, key, suggestion(word, formats), "unknown format %q", word)
		}
	}
}

// checkReference checks that a $ref has a target inside the schema.
func (v *vetter) checkReference(ref string, path []string, key string) {
	fragment, local := strings.CutPrefix(ref, "#")
	switch pointer, isPointer := strings.CutPrefix(fragment, "/"); {
	case !local:
		v.report(path, key, `copy it to $defs and write "#/$defs/…"`, "%s refers outside of the schema: %q is not fetched", key, ref)
	case fragment == "" || slices.Contains(v.anchors, fragment):
	case !isPointer || !v.resolves(pointer):
		v.report(path, key, "", "%s has no target: %q", key, ref)
	}
}

// resolves reports whether a JSON pointer (RFC 6901) in a URL fragment has a target.
func (v *vetter) resolves(pointer string) bool {
	text, err := url.PathUnescape(pointer)
	if err != nil {
		return false
	}
	tokens := strings.Split(text, "/")
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	switch valueAt(v.root, tokens).(type) {
	case map[string]any, bool:
		return true
	default:
		return false
	}
}

// suggestion returns the hint for an unknown word.
func suggestion(word string, known []string) string {
	if near := nearest.Name(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Compile compiles a schema, which is an object or a boolean. The error is [Problems] with all faults.
func Compile(raw json.RawMessage) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, Problems{{Message: fmt.Sprintf("the schema is not JSON: %v", err)}}
	}
	if problems := vet(document); len(problems) > 0 {
		return nil, problems
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, Problems{{Message: err.Error()}}
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, toProblems(err, document)
	}
	return &Schema{compiled}, nil
}

// noLoader refuses to load other schemas.
type noLoader struct{}

// Load returns an error.
func (noLoader) Load(string) (any, error) { return nil, errors.New("other schemas are not loaded") }

// schemaURL is the name of the schema for the library. It names no file and no host.
const schemaURL = "urn:pipeline:schema"
