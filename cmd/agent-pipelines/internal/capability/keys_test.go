package capability

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	const all = `{
		"type": "object",
		"required": ["who"],
		"$defs": {
			"count": {"type": "integer", "minimum": 0, "description": "a number of things"},
			"reply": {"type": "object", "properties": {"text": {"type": "string"}, "next": {"$ref": "#/$defs/reply"}}},
			"a/b": {"type": "boolean"},
			"round": {"$ref": "#/$defs/round"}
		},
		"properties": {
			"who": {"type": "string", "description": "Whose."},
			"delay": {"$ref": "#/$defs/count", "description": "its own words", "default": 5},
			"times": {"$ref": "#/$defs/count"},
			"ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1.5},
			"mode": {"enum": ["fast", "slow", 3, null], "default": "fast"},
			"only": {"const": "x"},
			"flag": {"$ref": "#/$defs/a~1b", "default": false},
			"names": {"type": "array", "items": {"type": "string"}, "default": []},
			"lists": {"type": "array", "items": {"type": "array"}},
			"replies": {"type": "array", "items": {"$ref": "#/$defs/reply"}},
			"prices": {"type": "object", "additionalProperties": {"type": "object", "properties": {"input": {"type": "number"}}}},
			"either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"$ref": "#/$defs/reply"}]},
			"maybe": {"type": ["string", "null"]},
			"judge": {"type": "object", "required": ["model"], "properties": {"model": {"type": "string"}}},
			"round": {"$ref": "#/$defs/round"},
			"elsewhere": {"$ref": "https://example.invalid/schema"},
			"free": {}, "yes": true
		}
	}`
	want := []Key{
		{Name: "delay", Type: "integer, at least 0", Default: "5", Description: "its own words"},
		{Name: "either", Type: "integer or string or object", Members: []string{"next", "text"}},
		{Name: "elsewhere", Type: "any value"},
		{Name: "flag", Type: "true or false", Default: "false"},
		{Name: "free", Type: "any value"},
		{Name: "judge", Type: "object"},
		{Name: "judge.model", Type: "string", Required: true},
		{Name: "lists", Type: "list of lists"},
		{Name: "maybe", Type: "string or null"},
		{Name: "mode", Type: "one of fast, slow, 3, null", Default: `"fast"`},
		{Name: "names", Type: "list of strings", Default: "[]"},
		{Name: "only", Type: "only x"},
		{Name: "prices", Type: "map of objects", Members: []string{"input"}},
		{Name: "ratio", Type: "number, over 0, at most 1.5"},
		{Name: "replies", Type: "list of objects", Members: []string{"next", "text"}},
		{Name: "round", Type: "any value"},
		{Name: "times", Type: "integer, at least 0", Description: "a number of things"},
		{Name: "who", Type: "string", Required: true, Description: "Whose."},
		{Name: "yes", Type: "any value"},
	}
	if diff := cmp.Diff(want, Keys(json.RawMessage(all))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestKeysOfInvalidSchema(t *testing.T) {
	for _, text := range []string{"", "true", "null", "[]", `"object"`, "{", `{"properties": 5}`, `{"properties": {"a"`, `{"type": "object"}`} {
		if got := Keys(json.RawMessage(text)); got != nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// A schema can have any content: no schema makes the reader loop or panic.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"array","items":{"$ref":"#"}}]}}}`))
	f.Add([]byte(`{"$ref":"#","properties":{"a":{"type":["integer",5],"minimum":"x","enum":{},"required":[1]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, k := range Keys(text) {
			if k.Type == "" {
				t.Errorf("the setting %q has no type", k.Name)
			}
			if k.Default != "" && !json.Valid([]byte(k.Default)) {
				t.Errorf("the default of %q is not JSON: %q", k.Name, k.Default)
			}
		}
	})
}
