package tool

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// NewSet opens the workspace and reads the definitions of the tools.
func NewSet(o Options) (*Set, error) {
	s := &Set{o: o, reports: map[string]fileRef{}}
	for _, t := range []struct {
		name      string
		arguments func() arguments
	}{
		{"read_file", func() arguments { return &readArgs{} }},
		{"write_file", func() arguments { return &writeArgs{} }},
		{"modify_file", func() arguments { return &modifyArgs{} }},
		{"delete_file", func() arguments { return &deleteArgs{} }},
		{"create_directory", func() arguments { return &directoryArgs{} }},
		{"list_directory", func() arguments { return &listArgs{Path: ".", Limit: defaultEntries} }},
		{"search_code", func() arguments { return &searchArgs{Path: ".", Limit: defaultEntries} }},
		{"run_terminal", func() arguments { return &terminalArgs{} }},
	} {
		read, err := readTool(t.name, t.arguments)
		if err != nil {
			return nil, err
		}
		s.tools = append(s.tools, read)
	}
	if s.o.ResultTokens <= 0 {
		s.o.ResultTokens = DefaultResultTokens
	}
	if s.o.Allowed == nil {
		s.o.Allowed = command.DefaultPrograms()
	}
	s.tools[len(s.tools)-1].Description += s.programList()
	if s.o.ReadOnly {
		s.tools[len(s.tools)-1].Description += " Commands of this stage may change no file of the workspace; the directory TMPDIR is writable."
	}
	ws, err := workspace.Open(o.Root)
	if err != nil {
		return nil, err
	}
	s.ws = ws
	s.environ = command.Environ(o.Environ, o.AddedEnviron, ws, o.Offline)
	if cache := cliagent.Getenv(s.environ, "XDG_CACHE_HOME"); s.o.ReadOnly && filepath.IsAbs(cache) {
		s.environ = cliagent.Environ(s.environ, map[string]string{"CARGO_TARGET_DIR": filepath.Join(cache, "cargo-target")})
	}
	s.gitEnviron = command.GitEnviron(s.environ, ws)
	s.rules = command.Rules{
		Workspace: ws, Allowed: s.o.Allowed, Path: cliagent.Getenv(s.environ, "PATH"), Offline: o.Offline,
		Guarded: s.holdsSecrets, Protected: s.isProtected, Secrets: secretNames(),
	}
	s.addReports(o.Reports, false)
	s.addReports(o.Readable, true)
	return s, nil
}

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

// programList returns the sentence of run_terminal's description that lists the allowed programs.
func (s *Set) programList() string {
	if len(s.o.Allowed) == 0 {
		return " No program is allowed here."
	}
	return " Allowed programs: " + strings.Join(s.o.Allowed, ", ") + "."
}

// Prepare checks a call, has no effects, and may refuse the call. again means that a crash interrupted the call:
// effects that the call already had are not errors.
func (s *Set) Prepare(name string, args json.RawMessage, again bool) (PreparedCall, *Refusal) {
	if name == "run_command" { // some models use this name
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
	if faults := t.parameters.Faults(p.Args); faults != "" {
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
		if faults := t.result.Faults(result.Data); faults != "" {
			err = newFailure("the result of %s does not fit its schema: %s", t.Name, faults)
		}
	}
	if err != nil {
		r := s.newRefusal(err)
		result.Status, result.Data = r.Status, r.Data()
	}
	return result
}

func (s *Set) find(name string) (tool, error) {
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return tool{}, InvalidArgs("there is no tool %q; there are: %s", head(name, 100), strings.Join(names, ", "))
}

// newRefusal returns the refusal for an error, without secrets: the error's message may quote the model or a file.
func (s *Set) newRefusal(err error) *Refusal {
	r := *classify(err)
	r.Message = s.o.Redactor.Text(r.Message)
	return &r
}
