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

// Refusal is why a call is not made, or failed.
type Refusal struct {
	Status  sdk.ToolStatus // denied or error
	Code    string
	Message string // for the model
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Data is the refusal as the result of its call.
func (r *Refusal) Data() json.RawMessage {
	return encode(map[string]any{"error": map[string]string{"code": r.Code, "message": r.Message}})
}

func denied(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolDenied, Code: CodeSandbox, Message: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) *Refusal {
	return &Refusal{Status: sdk.ToolError, Code: CodeFailed, Message: fmt.Sprintf(format, args...)}
}

func invalid(err error) *Refusal {
	return &Refusal{Status: sdk.ToolError, Code: CodeParameters, Message: err.Error()}
}

// refusal classifies an error.
func refusal(err error) *Refusal {
	var r *Refusal
	var outside *workspace.OutsideError
	var refused *command.RefusedError
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &outside):
		return denied("%s", outside)
	case errors.As(err, &refused):
		return denied("%s", refused)
	case workspace.Escapes(err):
		return denied("the path is outside the workspace: %s", err)
	default:
		return failed("%s", err)
	}
}

// Prepared is a call that may be made once it is allowed.
type Prepared struct {
	Tool     string          // the tool's own name
	Args     json.RawMessage // as the model gave them
	Effect   sdk.Effect
	Category sdk.Category
	// Paths are what it reads or changes: relative to the workspace, without links; a report outside is absolute.
	Paths []string
	// Command is the command line in its plain form: words as a shell would read them, needless quotes and options that
	// change nothing left out, so that a policy's patterns cannot be written around.
	Command string
	// Preview is what a person should see before they allow it, at most [sdk.MaxPreview] bytes, without secrets.
	Preview string
	Reason  string // the model's own word for why

	set   *Set
	tool  registered
	again bool // it may have been made already, in part or as a whole
	run   func(ctx context.Context) (outcome, error)
}

// outcome is what a tool did.
type outcome struct {
	status  sdk.ToolStatus // "" is success
	data    any
	changed []string
	key     string
}

// Prepare checks a call. Errors are [*Refusal]: to be told to the model, with nothing done.
func (s *Set) Prepare(name string, args json.RawMessage) (*Prepared, error) {
	return s.prepare(name, args, false)
}

// PrepareAgain is Prepare for a call that was cut off by a crash: what it has already done by then is no error.
func (s *Set) PrepareAgain(name string, args json.RawMessage) (*Prepared, error) {
	return s.prepare(name, args, true)
}

func (s *Set) prepare(name string, args json.RawMessage, again bool) (*Prepared, error) {
	name = canonical(name)
	t, err := s.find(name)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := check(t.parameters, args); err != nil {
		return nil, s.plain(invalid(fmt.Errorf("parameters of %s: %w", name, err)))
	}
	p := &Prepared{Tool: name, Args: args, set: s, tool: t, again: again}
	if err := t.prepare(s, p, args); err != nil {
		return nil, s.plain(refusal(err))
	}
	p.Preview = head(visible(s.o.Redactor.Text(p.Preview)), sdk.MaxPreview)
	p.Reason = visible(s.o.Redactor.Text(p.Reason))
	return p, nil
}

// plain takes secrets out of a refusal's message, which may quote what the model wrote or a file has.
func (s *Set) plain(r *Refusal) *Refusal {
	return &Refusal{Status: r.Status, Code: r.Code, Message: s.o.Redactor.Text(r.Message)}
}

// missing turns the error of a file that does not exist into words.
func missing(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("there is no %s", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	default:
		return nil
	}
}

// read decodes arguments that fit the schema.
func read(args json.RawMessage, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return invalid(err)
	}
	return nil
}
