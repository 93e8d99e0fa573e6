package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema. It is not changed after [Compile] and therefore safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Problem is what is wrong with a schema itself.
type Problem struct {
	Path    []string // keys and numbers from the root of the schema to what is meant
	Message string   // lower case, what is wrong
	Hint    string   // what to do, may be empty
}

// String is the message, behind the place unless that is the root: "$.type: must be …".
func (p Problem) String() string {
	if len(p.Path) == 0 {
		return p.Message
	}
	return jsonPath(p.Path) + ": " + p.Message
}

// Problems are everything that is wrong with a schema, as an error.
type Problems []Problem

// Error renders one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = jsonPath(p.Path) + ": " + p.Message
		if p.Hint != "" {
			lines[i] += " (" + p.Hint + ")"
		}
	}
	return strings.Join(lines, "\n")
}

// schemaURL is what the library calls the schema; it names no file and no place in a network.
const schemaURL = "urn:agent-pipelines:schema"

// Compile makes a schema of its JSON, an object or a boolean. The error is [Problems] and holds all of them.
func Compile(raw json.RawMessage) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, Problems{{Message: fmt.Sprintf("the schema is no JSON: %v", err)}}
	}
	if problems := vet(document); len(problems) > 0 {
		return nil, problems
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, Problems{{Message: err.Error()}}
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, toProblems(err, document)
	}
	return &Schema{compiled}, nil
}

// noLoader is where further schemas come from.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(string) (any, error) { return nil, errors.New("no other schema is read") }

// toProblems renders what the library found: that the document is no schema, or what it cannot work with.
func toProblems(err error, document any) Problems {
	var outer *jsonschema.SchemaValidationError // it does not unwrap
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return Problems{{Message: err.Error()}}
	}
	var problems Problems
	for _, f := range sortedFaults(invalid, document) {
		problems = append(problems, Problem{Path: f.tokens, Message: f.Message})
	}
	return slices.CompactFunc(problems, func(a, b Problem) bool { return slices.Equal(a.Path, b.Path) && a.Message == b.Message })
}

// Validate holds a value against the schema. The value is made of what encoding/json makes (nil, bool, numbers,
// string, []any, map[string]any); integers of Go and [json.Number] are numbers. The faults come in the order of
// their places, none for a value that is right.
func (s *Schema) Validate(value any) []Fault {
	var invalid *jsonschema.ValidationError
	if errors.As(s.compiled.Validate(value), &invalid) {
		return sortedFaults(invalid, value)
	}
	return nil
}
