package artifact

import (
	"encoding/json"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

func TestAsked(t *testing.T) {
	measured := func(fields ...string) map[string]string {
		m := map[string]string{}
		for _, f := range fields {
			m[f] = "checks.t.counts"
		}
		return m
	}
	tests := []struct {
		name, schema string
		fields       map[string]string
		carry        []string
		want         string
	}{
		{"nothing measured", `{"required":["a"], "type":"object"}`, nil, nil, `{"required":["a"], "type":"object"}`},
		{"no schema", ``, measured("a"), nil, ``},
		{"true", `true`, measured("a"), nil, `true`},
		{"a field", `{"required":["a","b"],"properties":{"a":{"type":"object"},"b":{"type":"string"}}}`, measured("a"), nil, `{"properties":{"a":true,"b":{"type":"string"}},"required":["b"]}`},
		{"all that is required", `{"required":["a"],"properties":{"a":{"const":0}}}`, measured("a"), nil, `{"properties":{"a":true}}`},
		{"a field that the schema does not describe", `{"required":["a","b"]}`, measured("a"), nil, `{"required":["b"]}`},
		{
			"a field within", `{"required":["r"],"properties":{"r":{"required":["n","m"],"properties":{"n":{"const":0},"m":{"type":"string"}}}}}`, measured("r.n"), nil,
			`{"properties":{"r":{"properties":{"m":{"type":"string"},"n":true},"required":["m"]}},"required":["r"]}`,
		},
		{"all fields within", `{"required":["r"],"properties":{"r":{"required":["n"],"properties":{"n":{"const":0}}}}}`, measured("r.n"), nil, `{"properties":{"r":{"properties":{"n":true}}}}`},
		{"carried over", `{"required":["id","a"],"properties":{"id":{"type":"string"}}}`, nil, []string{"id"}, `{"properties":{"id":{"type":"string"}},"required":["a"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := RequestedSchema(&plan.Artifact{Schema: json.RawMessage(tt.schema), KernelFields: tt.fields, Carry: tt.carry})
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
