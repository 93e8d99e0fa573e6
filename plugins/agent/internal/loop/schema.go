package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileSchema compiles a schema, which may refer only to its own parts.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const location = "urn:agent-pipelines:schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(location, document); err != nil {
		return nil, err
	}
	return c.Compile(location)
}

// noLoader refuses to load further schemas.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other schemas are not supported")
}

// maxFaults limits the description of a value's faults, in bytes.
const maxFaults = 4000

// schemaFaults returns the faults of a JSON value, one per line; "" for a valid value.
func schemaFaults(s *jsonschema.Schema, value json.RawMessage) string {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return "it is not JSON: " + err.Error()
	}
	if err = s.Validate(document); err == nil {
		return ""
	}
	_, lines, _ := strings.Cut(err.Error(), "\n") // the first names the schema
	return truncate(lines, maxFaults)
}

// readObject returns the JSON object in a file, nil if there is none.
func readObject(path string) map[string]any {
	var members map[string]any
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}
