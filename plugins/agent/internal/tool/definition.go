package tool

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Definition describes a tool to a model.
type Definition struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
	Result      json.RawMessage // JSON Schema of the result of a call
}

//go:embed schema/*.json
var schemaFiles embed.FS

// contract is a tool's definition with compiled schemas.
type contract struct {
	Definition
	parameters, result *jsonschema.Schema
}

// readContract reads schema/<name>.json.
func readContract(name string) (contract, error) {
	text, err := schemaFiles.ReadFile("schema/" + name + ".json")
	if err != nil {
		return contract{}, err
	}
	var file struct {
		Description        string
		Parameters, Result json.RawMessage
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return contract{}, fmt.Errorf("read the definition of %s: %w", name, err)
	}
	c := contract{Definition: Definition{Name: name, Description: file.Description, Parameters: compact(file.Parameters), Result: compact(file.Result)}}
	if c.parameters, err = compile(c.Parameters); err != nil {
		return contract{}, fmt.Errorf("parameters of %s: %w", name, err)
	}
	if c.result, err = compile(c.Result); err != nil {
		return contract{}, fmt.Errorf("result of %s: %w", name, err)
	}
	return c, nil
}

func compact(text json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("tool.json", doc); err != nil {
		return nil, err
	}
	return compiler.Compile("tool.json")
}

// check validates a JSON text against a schema. The error lists the faults, each with its place.
func check(schema *jsonschema.Schema, text json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	err = schema.Validate(value)
	if invalid := (*jsonschema.ValidationError)(nil); errors.As(err, &invalid) {
		return errors.New(schemaFaults(invalid))
	}
	return err
}

// schemaFaults returns the leaves of the tree of causes, at most ten (REQUIREMENTS C6).
func schemaFaults(invalid *jsonschema.ValidationError) string {
	const most, mostBytes = 10, 2000
	var lines []string
	for _, unit := range invalid.BasicOutput().Errors {
		if unit.Error == nil || len(lines) == most {
			continue
		}
		at := unit.InstanceLocation
		if at == "" {
			at = "/"
		}
		lines = append(lines, at+": "+unit.Error.String())
	}
	return head(strings.Join(lines, "; "), mostBytes)
}
