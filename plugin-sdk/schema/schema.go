package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Schema is a JSON Schema, which may refer only to its own parts. It is safe for concurrent use.
type Schema struct {
	compile func() (*jsonschema.Schema, error)
}

// New returns the schema in a JSON text. The schema is compiled at its first use.
func New(text []byte) *Schema {
	return &Schema{sync.OnceValues(func() (*jsonschema.Schema, error) { return compile(text) })}
}

func compile(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const location = "schema:///root" // the base of relative references to other documents; a URN cannot be a base
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(compilePattern)
	if err := compiler.AddResource(location, doc); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile(location)
	var fault *jsonschema.SchemaValidationError
	if errors.As(err, &fault) {
		return nil, errors.New(describe(fault.Err))
	}
	return compiled, err
}

// noLoader refuses to load further schemas.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other schemas are not supported")
}

// anyText is a pattern with syntax that only ECMA-262 has, such as lookahead. It matches every text.
type anyText string

// MatchString implements [jsonschema.Regexp].
func (anyText) MatchString(string) bool { return true }

// String implements [jsonschema.Regexp].
func (p anyText) String() string { return string(p) }

func compilePattern(pattern string) (jsonschema.Regexp, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil && (strings.Contains(pattern, "(?") || strings.Contains(pattern, `\`)) {
		return anyText(pattern), nil
	}
	return compiled, err
}

// Check returns the faults of the schema itself.
func (s *Schema) Check() error {
	_, err := s.compile()
	return err
}

// Faults returns at most ten faults of a JSON text, each with its place; "" for a valid text. If the schema itself is
// invalid, Faults returns the schema's fault for every text.
func (s *Schema) Faults(text []byte) string {
	compiled, err := s.compile()
	if err != nil {
		return err.Error()
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return "it is not JSON: " + err.Error()
	}
	if err := compiled.Validate(value); err != nil {
		return describe(err)
	}
	return ""
}

// describe returns the faults in the error of a validation, at most ten and 2000 bytes.
func describe(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	const most, mostBytes = 10, 2000
	faults := leaves(invalid)
	slices.Sort(faults)
	all := strings.Join(faults[:min(len(faults), most)], "; ")
	return strings.ToValidUTF8(all[:min(len(all), mostBytes)], "")
}

// leaves returns the faults that have no further cause. It omits alternatives of anyOf and oneOf for other types of
// values, unless every alternative is for another type.
func leaves(fault *jsonschema.ValidationError) []string {
	if len(fault.Causes) == 0 {
		unit := fault.BasicOutput()
		return []string{cmp.Or(unit.InstanceLocation, "/") + ": " + unit.Error.String()}
	}
	causes := fault.Causes
	switch fault.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		fitting := slices.DeleteFunc(slices.Clone(causes), func(c *jsonschema.ValidationError) bool { return isWrongType(c, fault) })
		if len(fitting) > 0 {
			causes = fitting
		}
	}
	var all []string
	for _, cause := range causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// isWrongType reports whether an alternative refuses the type of the value itself, not of a part of it.
func isWrongType(alternative, whole *jsonschema.ValidationError) bool {
	for len(alternative.Causes) == 1 {
		alternative = alternative.Causes[0]
	}
	_, ok := alternative.ErrorKind.(*kind.Type)
	return ok && len(alternative.InstanceLocation) == len(whole.InstanceLocation)
}

// Decode is [config.Decode] for a configuration that the schema describes. A value that the schema refuses is an error
// of kind config_invalid.
func (s *Schema) Decode(raw json.RawMessage, into any) error {
	if err := config.Decode(raw, into); err != nil {
		return err
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		raw = json.RawMessage("{}")
	}
	if faults := s.Faults(raw); faults != "" {
		return failure.New(failure.ConfigInvalid, "config: %s", faults)
	}
	return nil
}
