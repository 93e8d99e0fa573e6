package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema. It is immutable and safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Problem is a fault of a schema itself.
type Problem struct {
	Path    []string // keys and numbers from the root of the schema
	Message string   // lower case
	Hint    string   // how to fix it; may be empty
}

// String returns the message after the path: "$.type: must be …". The path of the root is omitted.
func (p Problem) String() string {
	if len(p.Path) == 0 {
		return p.Message
	}
	return jsonPath(p.Path) + ": " + p.Message
}

// Problems are all faults of a schema, as an error.
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

// toProblems converts an error of the library.
func toProblems(err error, document any) Problems {
	var outer *jsonschema.SchemaValidationError // it does not implement Unwrap
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

// Validate validates a value of the types of encoding/json (nil, bool, numbers, string, []any, map[string]any). Go
// integers and [json.Number] are numbers. The faults are sorted by path; nil for a valid value.
func (s *Schema) Validate(value any) []Fault {
	var invalid *jsonschema.ValidationError
	if errors.As(s.compiled.Validate(value), &invalid) {
		return sortedFaults(invalid, value)
	}
	return nil
}
