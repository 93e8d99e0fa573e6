package tool

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// readTool returns the tool that schema/<name>.json defines.
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
	return tool{
		Tool:       model.Tool{Name: name, Description: file.Description, Parameters: file.Parameters},
		parameters: schema.New(file.Parameters), result: schema.New(file.Result), arguments: arguments,
	}, nil
}
