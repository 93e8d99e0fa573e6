package document

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/graph"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// dialect is the version of JSON Schema that the schemas are written in.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Folder is the folder of the published schemas, below [authoring.SchemaBase].
const Folder = "output/"

// Schema returns the JSON Schema of the documents of a shape, made from its Go type. It names every field of this
// version and allows no other. Plans, their nodes, and data of plugins and agents may have further fields.
func (s Shape) Schema() ([]byte, error) {
	types, err := known()
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.ForType(s.value, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", s.Name, err)
	}
	schema.Schema, schema.ID = dialect, authoring.SchemaBase+Folder+s.Name+".json"
	schema.Title, schema.Description = s.ID(), s.About
	if s.value == reflect.TypeFor[graph.Graph]() {
		if schema.Defs, err = nested(types); err != nil {
			return nil, err
		}
	}
	if !s.Bare() {
		s.wrap(schema)
	}
	return json.MarshalIndent(schema, "", "  ")
}

// wrap adds the fields that every document has.
func (s Shape) wrap(schema *jsonschema.Schema) {
	id := any(s.ID())
	schema.Properties["schema"] = &jsonschema.Schema{Type: "string", Const: &id, Description: "the shape of the document and its version"}
	schema.Properties["next_commands"] = &jsonschema.Schema{
		Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "lines that can be typed next, the likeliest first",
	}
	schema.PropertyOrder = slices.Concat([]string{"schema"}, schema.PropertyOrder, []string{"next_commands"})
	schema.Required = slices.Concat([]string{"schema"}, schema.Required, []string{"next_commands"})
}

// known returns the schemas of Go types that do not describe their JSON exactly.
func known() (map[reflect.Type]*jsonschema.Schema, error) {
	severity, ok := reflect.TypeFor[engine.Diagnostics]().Elem().FieldByName("Severity")
	if !ok {
		return nil, fmt.Errorf("a diagnostic has no severity")
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
		severity.Type:                      words("error", "warning"),
		reflect.TypeFor[state.Status](): words(
			"", state.Pending, state.Running, state.Paused, state.Completed, state.Failed, state.Aborted,
		),
		reflect.TypeFor[plan.Kind]():  words(plan.KindStage, plan.KindParallel, plan.KindPipeline),
		reflect.TypeFor[plan.Plan]():  {Type: "object", Description: "as in plan.json"},
		reflect.TypeFor[plan.Node]():  {Type: "object", Description: "as in plan.json"},
		reflect.TypeFor[graph.Node](): {Ref: "#/$defs/node"},
	}, nil
}

func words[T ~string](all ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, word := range all {
		s.Enum = append(s.Enum, string(word))
	}
	return s
}

// nodeSchema is a [graph.Node] whose schema is written in full. Inside it, nodes refer to that schema,
// because nodes contain nodes.
type nodeSchema graph.Node

func nested(types map[reflect.Type]*jsonschema.Schema) (map[string]*jsonschema.Schema, error) {
	node, err := jsonschema.ForType(reflect.TypeFor[nodeSchema](), &jsonschema.ForOptions{TypeSchemas: types})
	return map[string]*jsonschema.Schema{"node": node}, err
}
