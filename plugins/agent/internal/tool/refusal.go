package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// Codes of refusals and failures (REQUIREMENTS U186).
const (
	CodeFailed     = "ACODE-EXEC-002" // the tool ran and failed, or could not run
	CodeSandbox    = "ACODE-EXEC-004" // outside the workspace, or a command that is not allowed
	CodeDenied     = "ACODE-EXEC-005" // refused by a policy or a user
	CodeParameters = "ACODE-EXEC-007" // the tool does not accept the parameters
)

// Refusal is the reason why a call is not made, or failed. It has no secrets, except as an error within this package.
type Refusal struct {
	Status  sdk.ToolStatus // denied or error
	Code    string
	Message string // for the model
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Data returns the refusal as the result of its call.
func (r *Refusal) Data() json.RawMessage {
	fault := map[string]string{"message": r.Message}
	if r.Code != "" {
		fault["code"] = r.Code
	}
	return encode(map[string]any{"error": fault})
}

func newDenial(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolDenied, Code: CodeSandbox, Message: fmt.Sprintf(format, args...)}
}

func newFailure(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolError, Code: CodeFailed, Message: fmt.Sprintf(format, args...)}
}

// InvalidArgs returns the refusal of arguments that the tool does not take.
func InvalidArgs(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolError, Code: CodeParameters, Message: fmt.Sprintf(format, args...)}
}

// classify returns the refusal for an error.
func classify(err error) *Refusal {
	var r *Refusal
	var outside *workspace.OutsideError
	var refused *command.RefusedError
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &outside):
		return newDenial("%s", outside)
	case errors.As(err, &refused):
		return newDenial("%s", refused)
	case workspace.Escapes(err):
		return newDenial("the path is outside the workspace: %s", err)
	default:
		return newFailure("%s", err)
	}
}

// fileError returns the error for a failed access to a file, nil for nil.
func fileError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newFailure("there is no %s", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	default:
		return nil
	}
}

// encode returns the value as JSON with < and & unescaped, which models read more reliably.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return json.RawMessage("null") // the schema of every result refuses null
	}
	return bytes.TrimSpace(b.Bytes())
}
