package tool

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// readTool reads schema/<name>.json.
func readTool(name string, arguments func() arguments) (tool, error) {
	text, err := schemaFiles.ReadFile("schema/" + name + ".json")
	if err != nil {
		return tool{}, err
	}
	var compact bytes.Buffer // fewer tokens for the model
	var file struct {
		Description        string
		Parameters, Result json.RawMessage
	}
	if err := errors.Join(json.Compact(&compact, text), json.Unmarshal(compact.Bytes(), &file)); err != nil {
		return tool{}, fmt.Errorf("read the definition of %s: %w", name, err)
	}
	t := tool{Tool: model.Tool{Name: name, Description: file.Description, Parameters: file.Parameters}, arguments: arguments}
	if t.parameters, err = CompileSchema(file.Parameters); err != nil {
		return tool{}, fmt.Errorf("parameters of %s: %w", name, err)
	}
	if t.result, err = CompileSchema(file.Result); err != nil {
		return tool{}, fmt.Errorf("result of %s: %w", name, err)
	}
	return t, nil
}

// CompileSchema compiles a JSON Schema, which may refer only to its own parts.
func CompileSchema(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	const location = "urn:agent-pipelines:schema"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(location, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(location)
}

// noLoader refuses to load further schemas.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other schemas are not supported")
}

// SchemaFaults returns the faults of a JSON text, each with its place and at most ten (REQUIREMENTS C6); "" for a valid one.
func SchemaFaults(schema *jsonschema.Schema, text json.RawMessage) string {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return "it is not JSON: " + err.Error()
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &invalid) {
		return ""
	}
	const most, mostBytes = 10, 2000
	var faults []string
	for _, unit := range invalid.BasicOutput().Errors { // the leaves of the tree of causes
		if unit.Error != nil && len(faults) < most {
			faults = append(faults, cmp.Or(unit.InstanceLocation, "/")+": "+unit.Error.String())
		}
	}
	return head(strings.Join(faults, "; "), mostBytes)
}
