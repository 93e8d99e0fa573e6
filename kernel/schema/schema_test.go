package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/kernel/schema"
)

func compileSchema(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decodeJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidate(t *testing.T) {
	long := `"` + strings.Repeat("x", 200) + `"`
	fault := func(path string, code schema.Code, message string) schema.Fault {
		return schema.Fault{Path: path, Code: code, Message: message}
	}
	tests := map[string]struct {
		schema, value string
		want          []schema.Fault
	}{
		"right":         {`{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}`, `{"a":3}`, nil},
		"whole float":   {`{"type":"integer"}`, `3.0`, nil},
		"true":          {`true`, `{"a":3}`, nil},
		"false":         {`false`, `3`, []schema.Fault{fault("$", schema.CodeUnknown, "is not allowed here")}},
		"missing":       {`{"required":["b","a"]}`, `{}`, []schema.Fault{fault("$.a", schema.CodeMissing, "is missing"), fault("$.b", schema.CodeMissing, "is missing")}},
		"type":          {`{"type":["array","null"]}`, `"x"`, []schema.Fault{fault("$", schema.CodeType, `must be null or array, not "x"`)}},
		"unknown":       {`{"additionalProperties":false}`, `{"a key":1}`, []schema.Fault{fault(`$["a key"]`, schema.CodeUnknown, "is not allowed here")}},
		"unevaluated":   {`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, []schema.Fault{fault("$.b", schema.CodeUnknown, "is not allowed here")}},
		"items":         {`{"properties":{"a":{"minItems":2}}}`, `{"a":[1]}`, []schema.Fault{fault("$.a", schema.CodeItems, "must have at least 2 items, has 1")}},
		"too many":      {`{"maxItems":1}`, `[1,2]`, []schema.Fault{fault("$", schema.CodeItems, "must have at most 1 item, has 2")}},
		"contains":      {`{"contains":{"const":1}}`, `[2]`, []schema.Fault{fault("$", schema.CodeItems, "has no item that matches contains")}},
		"pattern":       {`{"pattern":"^a"}`, `"b"`, []schema.Fault{fault("$", schema.CodePattern, `must match ^a, "b" does not`)}},
		"enum":          {`{"items":{"enum":[1,"b"]}}`, `["b",2]`, []schema.Fault{fault("$[1]", schema.CodeEnum, `must be one of 1, "b", not 2`)}},
		"const":         {`{"const":0}`, `1`, []schema.Fault{fault("$", schema.CodeEnum, "must be 0, not 1")}},
		"length":        {`{"minLength":1}`, `""`, []schema.Fault{fault("$", schema.CodeLength, "must have at least 1 character, has 0")}},
		"format":        {`{"format":"date"}`, `"soon"`, []schema.Fault{fault("$", schema.CodeFormat, `is not a valid date: "soon"`)}},
		"range":         {`{"minimum":1.5}`, `1`, []schema.Fault{fault("$", schema.CodeRange, "must be at least 1.5, not 1")}},
		"multiple":      {`{"multipleOf":2}`, `3`, []schema.Fault{fault("$", schema.CodeRange, "must be a multiple of 2, not 3")}},
		"unique":        {`{"uniqueItems":true}`, `[1,2,1]`, []schema.Fault{fault("$", schema.CodeUnique, "has equal items: numbers 0 and 2")}},
		"dependency":    {`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []schema.Fault{fault("$.b", schema.CodeDependency, `is missing: "a" needs it`)}},
		"not":           {`{"not":{"type":"null"}}`, `null`, []schema.Fault{fault("$", schema.CodeExclusive, "must not be null")}},
		"one of, both":  {`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, []schema.Fault{fault("$", schema.CodeExclusive, "matches more than one of the exclusive alternatives")}},
		"one of, none":  {`{"oneOf":[{"type":"null"},{"required":["a"]}]}`, `{}`, []schema.Fault{fault("$", schema.CodeConstraint, "matches none of the alternatives: must be null, not {}; $.a is missing")}},
		"any of":        {`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `3`, []schema.Fault{fault("$", schema.CodeConstraint, "matches none of the alternatives: must be null, not 3; must be string, not 3")}},
		"members":       {`{"minProperties":1}`, `{}`, []schema.Fault{fault("$", schema.CodeObject, "must have at least 1 member, has 0")}},
		"member's name": {`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []schema.Fault{fault("$", schema.CodeObject, `must not have a member "ab": its name must have at most 1 character, has 2`)}},
		"reference":     {`{"$defs":{"n":{"type":"number"}},"items":{"$ref":"#/$defs/n"}}`, `[1,"x"]`, []schema.Fault{fault("$[1]", schema.CodeType, `must be number, not "x"`)}},
		"anchor":        {`{"$defs":{"n":{"$anchor":"n","type":"number"}},"$ref":"#n"}`, `"x"`, []schema.Fault{fault("$", schema.CodeType, `must be number, not "x"`)}},
		"own name":      {`{"$id":"https://example.com/s.json","$defs":{"n":{"type":"number"}},"$ref":"#/$defs/n"}`, `"x"`, []schema.Fault{fault("$", schema.CodeType, `must be number, not "x"`)}},
		"circle":        {`{"$ref":"#"}`, `1`, []schema.Fault{fault("$", schema.CodeConstraint, "cannot be checked: the schema refers to itself without end")}},
		"a tree":        {`{"properties":{"sub":{"items":{"$ref":"#"}},"n":{"type":"integer"}}}`, `{"sub":[{"n":1},{"sub":[{"n":"x"}]}]}`, []schema.Fault{fault("$.sub[1].sub[0].n", schema.CodeType, `must be integer, not "x"`)}},
		"long value":    {`{"type":"null"}`, long, []schema.Fault{fault("$", schema.CodeType, "must be null, not "+long[:99]+"…")}},
		"in order": {
			`{"items":{"type":"integer"}}`, `["a",1,"b",1,1,1,1,1,1,1,"c"]`,
			[]schema.Fault{fault("$[0]", schema.CodeType, `must be integer, not "a"`), fault("$[2]", schema.CodeType, `must be integer, not "b"`), fault("$[10]", schema.CodeType, `must be integer, not "c"`)},
		},
		"all at once": {
			`{"required":["goal"],"properties":{"tasks":{"minItems":1},"version":{"minimum":1}}}`, `{"tasks":[],"version":0}`,
			[]schema.Fault{fault("$.goal", schema.CodeMissing, "is missing"), fault("$.tasks", schema.CodeItems, "must have at least 1 item, has 0"), fault("$.version", schema.CodeRange, "must be at least 1, not 0")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := compileSchema(t, tt.schema).Validate(decodeJSON(t, tt.value))
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(schema.Fault{})); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// Values come from YAML, too, whose whole numbers are Go integers.
func TestValuesOfGo(t *testing.T) {
	s := compileSchema(t, `{"properties":{"n":{"type":"integer","minimum":2}}}`)
	if got := s.Validate(map[string]any{"n": 2}); got != nil {
		t.Errorf("an int: %v", got)
	}
	if got := s.Validate(map[string]any{"n": json.Number("1")}); len(got) != 1 || got[0].String() != "$.n: VAL-011: must be at least 2, not 1" {
		t.Errorf("a number as text: %v", got)
	}
	if got := s.Validate(map[string]any{"n": make(chan int)}); len(got) != 1 || got[0].Code != schema.CodeSyntax {
		t.Errorf("no data: %v", got)
	}
}

func TestProblems(t *testing.T) {
	tests := map[string]struct {
		schema string
		want   string
	}{
		"no JSON":           {`{`, "$: the schema is not JSON: unexpected EOF"},
		"no schema":         {`3`, "$: must be boolean or object, not 3"},
		"unknown keyword":   {`{"properties":{"a":{"requird":["x"]}}}`, `$.properties.a.requird: unknown keyword "requird" (did you mean "required"?)`},
		"several at once":   {`{"anyOf":[{"foo":1}],"bar":1}`, "$.bar: unknown keyword \"bar\"\n$.anyOf[0].foo: unknown keyword \"foo\""},
		"wrong type":        {`{"type":"text"}`, `$.type: matches none of the alternatives: must be one of "array", "boolean", "integer", "null", "number", "object", "string", not "text"; must be array, not "text"`},
		"wrong list":        {`{"properties":{"a":{"required":"x"}}}`, `$.properties.a.required: must be array, not "x"`},
		"bad pattern":       {`{"pattern":"("}`, `$.pattern: is not a valid regex: "("`},
		"negative length":   {`{"minLength":-1}`, `$.minLength: must be at least 0, not -1`},
		"outward reference": {`{"$ref":"https://example.com/s"}`, `$["$ref"]: $ref refers outside of the schema: "https://example.com/s" is not fetched (copy it to $defs and write "#/$defs/…")`},
		"file":              {`{"items":{"$ref":"other.yaml#/a"}}`, `$.items["$ref"]: $ref refers outside of the schema: "other.yaml#/a" is not fetched (copy it to $defs and write "#/$defs/…")`},
		"dead reference":    {`{"$ref":"#/$defs/x"}`, `$["$ref"]: $ref has no target: "#/$defs/x"`},
		"dead anchor":       {`{"$ref":"#x"}`, `$["$ref"]: $ref has no target: "#x"`},
		"another draft":     {`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `$["$schema"]: draft "http://json-schema.org/draft-07/schema#" is not supported (write the schema for https://json-schema.org/draft/2020-12/schema)`},
		"unknown format":    {`{"format":"datetime"}`, `$.format: unknown format "datetime" (did you mean "date-time"?)`},
		"second name":       {`{"items":{"$id":"x"}}`, `$.items["$id"]: $id is only allowed at the root of a schema (use $anchor)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(tt.schema))
			var problems schema.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("no problems: %v", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnKeywordsPass(t *testing.T) {
	compileSchema(t, `{"x-note":"ours","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"unknown":true},"enum":[{"unknown":1}]}`)
}

// FuzzSchema checks that compiling a schema and validating a value never panic, and that each fault has a path, a code
// and a message.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{`{"type":"object"}`, `{"$ref":"#"}`, `{"anyOf":[{"const":1},{"$ref":"#/anyOf/0"}]}`, `{"properties":{"a":{"pattern":"("}}}`, `[1]`, `{"$id":"%"}`, `{"$dynamicRef":"#a"}`} {
		f.Add(seed, `{"a":[1,{"b":null}]}`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := schema.Compile(json.RawMessage(text))
		var v any
		if err != nil || json.Unmarshal([]byte(value), &v) != nil {
			return
		}
		for _, fault := range s.Validate(v) {
			if fault.Path == "" || fault.Code == "" || fault.Message == "" || !utf8.ValidString(fault.Message) {
				t.Fatalf("%+v", fault)
			}
		}
	})
}
