package tool

import (
	"cmp"
	"context"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// PreparedCall is a checked call that may be made once it is allowed.
type PreparedCall struct {
	// ToolCall is the call for the kernel, without CallID and Turn. Tool is the tool's canonical name. Paths are relative to
	// the workspace, without links; those of a report outside it are absolute. Command is in canonical form, without needless
	// quotes and without effect-free options, so that spelling cannot evade a policy's patterns. Preview has no secrets.
	sdk.ToolCall
	// Run makes the call. It repeats the checks that may have a new answer. Cancelling the context ends the call; the output
	// of a command until then is kept. Run may be called once.
	Run func(context.Context) Result

	again bool // the call may have been made already, in part or entirely
	run   func(context.Context) (outcome, error)
}

// Result is the result of a call.
type Result struct {
	Status sdk.ToolStatus
	// Data is the tool's result, which fits its schema, or {"error": {"code", "message"}}. It has no secrets.
	Data json.RawMessage
	// Changed are the files and directories that were created, changed or deleted, as in [PreparedCall.Paths].
	Changed []string
	// Key identifies the content that was read, for [Set.Keep]. It is empty except for read_file.
	Key string
}

// outcome is the result of a tool before its encoding.
type outcome struct {
	status  sdk.ToolStatus // "" is success
	data    any
	changed []string
	key     string
}

// Prepare checks a call, has no effects, and may refuse the call. With again, a crash interrupted the call: effects that the
// call already had are not errors.
func (s *Set) Prepare(name string, args json.RawMessage, again bool) (PreparedCall, *Refusal) {
	if name == "run_command" { // some models request it
		name = "run_terminal"
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	p := PreparedCall{ToolCall: sdk.ToolCall{Tool: name, Args: args}, again: again}
	t, err := s.find(name)
	if err == nil {
		err = t.prepare(s, &p)
	}
	if err != nil {
		return PreparedCall{}, s.newRefusal(err)
	}
	p.Preview = head(escapeControl(s.o.Redactor.Text(p.Preview)), sdk.MaxPreview)
	p.Reason = escapeControl(s.o.Redactor.Text(p.Reason))
	run := p.run
	p.Run = func(ctx context.Context) Result {
		done, err := run(ctx)
		return s.newResult(t, done, err)
	}
	return p, nil
}

// prepare checks the arguments and completes the call.
func (t tool) prepare(s *Set, p *PreparedCall) error {
	if faults := SchemaFaults(t.parameters, p.Args); faults != "" {
		return InvalidArgs("parameters of %s: %s", t.Name, faults)
	}
	a := t.arguments()
	if err := json.Unmarshal(p.Args, a); err != nil {
		return InvalidArgs("%s", err)
	}
	return a.prepare(s, p)
}

// newResult returns the result of a call, without secrets and checked against the tool's schema.
func (s *Set) newResult(t tool, done outcome, err error) Result {
	result := Result{Status: cmp.Or(done.status, sdk.ToolSuccess), Changed: done.changed, Key: done.key}
	if err == nil {
		result.Data = s.o.Redactor.JSON(encode(done.data))
		if faults := SchemaFaults(t.result, result.Data); faults != "" {
			err = newFailure("the result of %s does not fit its schema: %s", t.Name, faults)
		}
	}
	if err != nil {
		r := s.newRefusal(err)
		result.Status, result.Data = r.Status, r.Data()
	}
	return result
}
