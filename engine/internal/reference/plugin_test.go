package reference_test

import (
	"encoding/json"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/reference"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// components returns components with configuration schemas.
func components() []sdk.Component {
	closed := json.RawMessage(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x", "type": "object", "additionalProperties": false,
		"required": ["size"], "properties": {"size": {"$ref": "#/$defs/size"}, "type": {"const": "sized"}}, "$defs": {"size": {"type": "integer"}}}`)
	return []sdk.Component{
		{Kind: sdk.KindProvider, Name: "sized", Aliases: []string{"s"}, ConfigSchema: closed},
		{Kind: sdk.KindTermination, Name: "sized", Aliases: []string{"s.z"}, ConfigSchema: closed},
		{Kind: sdk.KindHookAction, Name: "sized", ConfigSchema: closed},
		{Kind: sdk.KindHookAction, Name: "check", ConfigSchema: json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {"type": true, "run": {"type": "string"}}}`)},
		{Kind: sdk.KindHookAction, Name: "silent"},
	}
}

// A8: the schemas include the configuration of plugins beside the keys that the kernel reads itself.
func TestSchemaWithPlugins(t *testing.T) {
	for _, tt := range []struct {
		name   string
		object *dialect.Object
		text   string
		takes  bool
	}{
		{"a provider's config", &settings.ConfigTable, "providers: {sized: {model: m, config: {size: 1}}, s: {config: ~}, other: {config: {x: 1}}}", true},
		{"a wrong one", &settings.ConfigTable, "providers: {sized: {config: {size: x}}}", false},
		{"a wrong one under an alias", &settings.ConfigTable, "providers: {s: {config: {sise: 1}}}", false},
		{"a misspelled key of a provider", &settings.ConfigTable, "providers: {sized: {modelx: m}}", false},
		{"a notification", &settings.ConfigTable, "notify: [{action: sized, size: 1, on: waiting, x-a: 1}, {action: silent, y: 1}]", true},
		{"a wrong notification", &settings.ConfigTable, "notify: [{action: sized, size: x}]", false},
		{"a strategy", &dialect.Stage, "termination: {type: sized, size: 1, max: 3}", true},
		{"a part of a strategy", &dialect.Stage, "termination: {type: sized, max: 3}", true},
		{"a wrong strategy", &dialect.Stage, "termination: {type: sized, size: x}", false},
		{"a wrong strategy under an alias", &dialect.Stage, "termination: {type: s.z, sise: 1}", false},
		{"another strategy", &dialect.Stage, "termination: {type: sxz, sise: 1}", true},
		{"a hook", &dialect.Pipeline, "{name: p, nodes: [], hooks: {stage_end: [{action: sized, size: 1, timeout: 3, x-a: 1}]}}", true},
		{"a hook that lacks something", &dialect.Pipeline, "{name: p, nodes: [], hooks: {stage_end: [{action: sized}]}}", false},
		{"a check", &dialect.Stage, "checks: [{id: a, type: file, run: x, timeout: 3}]", true},
		{"a wrong check", &dialect.Stage, "checks: [{id: a, type: file, rum: x}]", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := reference.SchemaWith(tt.object, components())
			if err != nil {
				t.Fatal(err)
			}
			s, err := schema.Compile(raw)
			if err != nil {
				t.Fatal(err)
			}
			root, _ := yamldoc.Parse([]byte(tt.text))
			if faults := s.Validate(root.Any()); (len(faults) == 0) != tt.takes {
				t.Errorf("faults %v", faults)
			}
		})
	}
}
