package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compile makes a schema, which may refer to its own parts only.
func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const location = "urn:agent-pipelines:schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(location, document); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// nowhere is where further schemas come from.
type nowhere struct{}

// Load refuses.
func (nowhere) Load(string) (any, error) { return nil, errors.New("no other schema is read") }

// maxFaults bounds what is told of the faults of a value, in bytes.
const maxFaults = 4000

// faults says what keeps a JSON value from a schema, a line for each fault; "" for nothing.
func faults(s *jsonschema.Schema, value json.RawMessage) string {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return "it is no JSON: " + err.Error()
	}
	if err = s.Validate(document); err == nil {
		return ""
	}
	_, lines, _ := strings.Cut(err.Error(), "\n") // the first names the schema
	return short(lines, maxFaults)
}
