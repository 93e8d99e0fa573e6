package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// Codes of refusals and failures (seed 002, Error Codes).
const (
	CodeFailed     = "ACODE-EXEC-002" // the tool ran and failed, or could not run
	CodeSandbox    = "ACODE-EXEC-004" // outside the workspace, or a command that is not allowed
	CodeParameters = "ACODE-EXEC-007" // the parameters are not what the tool takes
)

// Refusal is the reason why a call is not made, or failed.
type Refusal struct {
	Status  sdk.ToolStatus // denied or error
	Code    string
	Message string // for the model
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Data returns the refusal as the result of its call.
func (r *Refusal) Data() json.RawMessage {
	return encode(map[string]any{"error": map[string]string{"code": r.Code, "message": r.Message}})
}

func newDenial(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolDenied, Code: CodeSandbox, Message: fmt.Sprintf(format, args...)}
}

func newFailure(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolError, Code: CodeFailed, Message: fmt.Sprintf(format, args...)}
}

func invalidArgs(err error) *Refusal {
	return &Refusal{Status: sdk.ToolError, Code: CodeParameters, Message: err.Error()}
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

// PreparedCall is a checked call that may be made once it is allowed.
type PreparedCall struct {
	Tool     string          // the tool's canonical name
	Args     json.RawMessage // as the model wrote them
	Effect   sdk.Effect
	Category sdk.Category
	// Paths are the paths that the call reads or changes: relative to the workspace, without links; a report outside it is
	// absolute.
	Paths []string
	// Command is the command line in canonical form, without needless quotes and without effect-free options, so that
	// spelling cannot evade a policy's patterns.
	Command string
	// Preview shows a user the effect of the call: at most [sdk.MaxPreview] bytes, without secrets.
	Preview string
	Reason  string // the model's reason

	set   *Set
	tool  registeredTool
	again bool // the call may have been made already, in part or entirely
	run   func(ctx context.Context) (outcome, error)
}

// outcome is the result of a tool before its encoding.
type outcome struct {
	status  sdk.ToolStatus // "" is success
	data    any
	changed []string
	key     string
}

// Prepare checks a call and has no effects. Errors are [*Refusal], for the model. With again, a crash interrupted the call:
// effects that the call already had are not errors.
func (s *Set) Prepare(name string, args json.RawMessage, again bool) (*PreparedCall, error) {
	name = canonicalName(name)
	t, err := s.find(name)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := check(t.parameters, args); err != nil {
		return nil, s.redactRefusal(invalidArgs(fmt.Errorf("parameters of %s: %w", name, err)))
	}
	p := &PreparedCall{Tool: name, Args: args, set: s, tool: t, again: again}
	if err := t.prepare(s, p, args); err != nil {
		return nil, s.redactRefusal(classify(err))
	}
	p.Preview = head(escapeControl(s.o.Redactor.Text(p.Preview)), sdk.MaxPreview)
	p.Reason = escapeControl(s.o.Redactor.Text(p.Reason))
	return p, nil
}

// redactRefusal removes secrets from a refusal's message, which may quote the model or a file.
func (s *Set) redactRefusal(r *Refusal) *Refusal {
	return &Refusal{Status: r.Status, Code: r.Code, Message: s.o.Redactor.Text(r.Message)}
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

// decodeArgs decodes arguments that fit the schema.
func decodeArgs(args json.RawMessage, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return invalidArgs(err)
	}
	return nil
}
