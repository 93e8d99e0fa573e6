package mock

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// The schemas are written by hand, so they must declare the keys that the structs read.
func TestSchemasDeclareAllKeys(t *testing.T) {
	tests := []struct {
		kind string
		def  string
		read any
	}{
		{"provider", "", Config{}},
		{"provider", "reply", Reply{}},
		{"provider", "tool_call", ToolCall{}},
		{"provider", "usage", sdk.Usage{}},
		{"provider", "failure", Failure{}},
		{"termination", "", StrategyConfig{}},
		{"termination", "decision", StrategyDecision{}},
		{"termination", "ask", Ask{}},
		{"termination", "failure", Failure{}},
		{"hook_action", "", ActionConfig{}},
		{"hook_action", "failure", Failure{}},
	}
	for _, tt := range tests {
		t.Run(tt.kind+" "+tt.def, func(t *testing.T) { plugintest.SchemaKeys(t, definition(t, tt.kind, tt.def), tt.read) })
	}
}

// definition returns a schema or one of its definitions, which allows no unknown keys.
func definition(t *testing.T, kind, def string) json.RawMessage {
	t.Helper()
	type object struct {
		Additional *bool                      `json:"additionalProperties"`
		Properties json.RawMessage            `json:"properties"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	read := func(raw json.RawMessage) (o object) {
		check(t, json.Unmarshal(raw, &o))
		return o
	}
	found := json.RawMessage(map[string][]byte{"provider": providerSchema, "termination": strategySchema, "hook_action": actionSchema}[kind])
	if def != "" {
		found = read(found).Defs[def]
	}
	for _, choice := range read(found).AnyOf {
		if read(choice).Properties != nil {
			found = choice
		}
	}
	if o := read(found); o.Additional == nil || *o.Additional {
		t.Errorf("the schema allows unknown keys")
	}
	return found
}

// keys returns the JSON keys of a struct.
func keys(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func TestManualNamesEveryKey(t *testing.T) {
	manual := must(os.ReadFile("../README.md"))
	for _, read := range []reflect.Type{
		reflect.TypeFor[Config](), reflect.TypeFor[Reply](), reflect.TypeFor[ToolCall](), reflect.TypeFor[Failure](), reflect.TypeFor[Spawn](),
		reflect.TypeFor[StrategyDecision](), reflect.TypeFor[Ask](), reflect.TypeFor[ActionConfig](),
	} {
		for _, key := range keys(read) {
			if !regexp.MustCompile("[`{ ]" + key + "[`:,}\n]").Match(manual) {
				t.Errorf("the manual does not name %s of %s", key, read)
			}
		}
	}
}
