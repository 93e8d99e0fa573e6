package verify

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestSchemas(t *testing.T) {
	tests := []struct {
		name, schema string
		want         Result
		seen         string
	}{
		{"none", ``, NotApplicable, "declares no settings"},
		{"an object", `{"type":"object","properties":{"a":{"type":["integer","null"],"minimum":0},"b":true},"required":["a"]}`, Pass, "2 settings"},
		{"without a type", `{"properties":{}}`, Pass, "0 settings"},
		{"the draft", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, Pass, ""},
		{"another draft", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, Fail, "draft-07"},
		{"everything", `true`, Fail, "has no settings"},
		{"no schema", `[1]`, Fail, "has no settings"},
		{"no JSON", `{"type":`, Fail, "unexpected end"},
		{"settings that are a list", `{"type":"array"}`, Fail, "its type is array"},
		{"an unknown type", `{"properties":{"a":{"type":"int"}}}`, Fail, "config_schema: /properties/a/type: value must be one of"},
		{"properties that are a list", `{"properties":[]}`, Fail, "config_schema: /properties: got array, want object"},
		{"a property that is a text", `{"properties":{"a":"string"}}`, Fail, "/properties/a: got string, want boolean or object"},
		{"required of one property", `{"properties":{"a":{"required":true}}}`, Fail, "required: got boolean, want array"},
		{"required numbers", `{"required":[1]}`, Fail, "/required/0: got number, want string"},
		{"a minimum in words", `{"properties":{"a":{"minimum":"0"}}}`, Fail, "minimum: got string, want number"},
		{"a negative length", `{"properties":{"a":{"maxLength":-1}}}`, Fail, "maxLength: minimum: got -1, want 0"},
		{"a description of numbers", `{"description":1}`, Fail, "description: got number, want string"},
		{"a broken pattern", `{"properties":{"a":{"pattern":"["}}}`, Fail, "is not valid regex"},
		{"inside of a list of schemas", `{"anyOf":[{},{"items":{"uniqueItems":"yes"}}]}`, Fail, "/anyOf/1/items/uniqueItems: got string, want boolean"},
		{"a pattern of ECMA-262 alone", `{"properties":{"a":{"pattern":"(?=a)"}}}`, Pass, "1 settings"},
		{"a reference to another document", `{"properties":{"a":{"$ref":"https://example.com/a.json"}}}`, Fail, "not supported"},
		{"a relative reference", `{"properties":{"a":{"$ref":"a.json"}}}`, Fail, "not supported"},
		{"a keyword of one's own", `{"x-order":["a"],"default":{}}`, Pass, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := checkSchema(t.Context(), nil, nil, sdk.Component{ConfigSchema: json.RawMessage(tt.schema)})
			if got.result != tt.want || !strings.Contains(got.observation, tt.seen) {
				t.Errorf("got %s: %s, want %s: %s", got.result, got.observation, tt.want, tt.seen)
			}
		})
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"int"}},"anyOf":[true]}`)
	f.Add(`[[[`)
	f.Fuzz(func(t *testing.T, text string) {
		got := checkSchema(t.Context(), nil, nil, sdk.Component{ConfigSchema: json.RawMessage(text)})
		if got.result == Pass && !isObject(json.RawMessage(text)) {
			t.Errorf("%q passes and is not an object", text)
		}
	})
}
