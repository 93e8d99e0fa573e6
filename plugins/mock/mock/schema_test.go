package mock

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// The schemas are written by hand, so they must declare the keys that the structs read.
func TestSchemasNameWhatIsRead(t *testing.T) {
	tests := []struct {
		kind string
		def  string
		read reflect.Type
	}{
		{"provider", "", reflect.TypeFor[Config]()},
		{"provider", "reply", reflect.TypeFor[Reply]()},
		{"provider", "tool_call", reflect.TypeFor[ToolCall]()},
		{"provider", "usage", reflect.TypeFor[sdk.Usage]()},
		{"provider", "failure", reflect.TypeFor[Failure]()},
		{"termination", "", reflect.TypeFor[StrategyConfig]()},
		{"termination", "decision", reflect.TypeFor[StrategyDecision]()},
		{"termination", "ask", reflect.TypeFor[Ask]()},
		{"termination", "failure", reflect.TypeFor[Failure]()},
		{"hook_action", "", reflect.TypeFor[ActionConfig]()},
		{"hook_action", "failure", reflect.TypeFor[Failure]()},
	}
	for _, tt := range tests {
		t.Run(tt.kind+" "+tt.def, func(t *testing.T) {
			if diff := cmp.Diff(keys(tt.read), properties(t, tt.kind, tt.def)); diff != "" {
				t.Errorf("(-read +declared)\n%s", diff)
			}
		})
	}
}

// properties returns the keys that a schema, or one of its definitions, allows.
func properties(t *testing.T, kind, def string) []string {
	t.Helper()
	type object struct {
		Additional *bool                      `json:"additionalProperties"`
		Properties map[string]json.RawMessage `json:"properties"`
		AnyOf      []object                   `json:"anyOf"`
	}
	var root struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(schema(kind), &root); err != nil {
		t.Fatal(err)
	}
	found := root.object
	if def != "" {
		found = root.Defs[def]
	}
	for _, choice := range found.AnyOf {
		if choice.Properties != nil {
			found = choice
		}
	}
	if found.Additional == nil || *found.Additional {
		t.Errorf("the schema allows unknown keys")
	}
	return slices.Sorted(maps.Keys(found.Properties))
}

// keys returns the JSON keys of a struct.
func keys(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestManualNamesEveryKey(t *testing.T) {
	manual, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []reflect.Type{
		reflect.TypeFor[Config](), reflect.TypeFor[Reply](), reflect.TypeFor[ToolCall](), reflect.TypeFor[Failure](), reflect.TypeFor[Spawn](),
		reflect.TypeFor[StrategyDecision](), reflect.TypeFor[Ask](), reflect.TypeFor[Answer](),
	} {
		for _, key := range keys(read) {
			if !regexp.MustCompile("[`{ ]" + key + "[`:,}\n]").Match(manual) {
				t.Errorf("the manual does not name %s of %s", key, read)
			}
		}
	}
}

func TestSchemaOfNoKind(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	schema("nothing")
}
