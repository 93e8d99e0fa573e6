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
		{"no schema", `[1]`, Fail, "neither an object nor a boolean"},
		{"no JSON", `{"type":`, Fail, "unexpected end"},
		{"settings that are a list", `{"type":"array"}`, Fail, "its type is array"},
		{"an unknown type", `{"properties":{"a":{"type":"int"}}}`, Fail, "config_schema/properties/a/type: int is not a type"},
		{"properties that are a list", `{"properties":[]}`, Fail, "config_schema/properties is not an object"},
		{"a property that is a text", `{"properties":{"a":"string"}}`, Fail, "config_schema/properties/a is neither"},
		{"required of one property", `{"properties":{"a":{"required":true}}}`, Fail, "required is not a list of names"},
		{"required numbers", `{"required":[1]}`, Fail, "1 is not a name"},
		{"an empty enum", `{"properties":{"a":{"enum":[]}}}`, Fail, "enum is not a list of values"},
		{"a minimum in words", `{"properties":{"a":{"minimum":"0"}}}`, Fail, "minimum is not a number"},
		{"a negative length", `{"properties":{"a":{"maxLength":-1}}}`, Fail, "maxLength is not a count"},
		{"a description of numbers", `{"description":1}`, Fail, "description is not a string"},
		{"a broken pattern", `{"properties":{"a":{"pattern":"["}}}`, Fail, "not a regular expression"},
		{"inside of a list of schemas", `{"anyOf":[{},{"items":{"uniqueItems":"yes"}}]}`, Fail, "anyOf/1/items/uniqueItems is not a boolean"},
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
