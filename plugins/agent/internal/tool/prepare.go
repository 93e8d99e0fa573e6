package tool

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

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
	p := &PreparedCall{ToolCall: sdk.ToolCall{Tool: name, Args: args}, set: s, tool: t, again: again}
	if err := t.prepare(s, p, args); err != nil {
		return nil, s.redactRefusal(classify(err))
	}
	p.Preview = head(escapeControl(s.o.Redactor.Text(p.Preview)), sdk.MaxPreview)
	p.Reason = escapeControl(s.o.Redactor.Text(p.Reason))
	return p, nil
}

// NewSet opens the workspace and reads the contracts of the tools.
func NewSet(o Options) (*Set, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Redactor == nil {
		o.Redactor = redact.New(cliagent.Environ(o.Environ, o.AddedEnviron))
	}
	if o.ResultTokens <= 0 {
		o.ResultTokens = DefaultResultTokens
	}
	if o.Retry == nil {
		o.Retry = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Allowed == nil {
		o.Allowed = command.DefaultPrograms()
	}
	s := &Set{o: o}
	if err := s.register(); err != nil {
		return nil, err
	}
	ws, err := workspace.Open(o.Root)
	if err != nil {
		return nil, err
	}
	s.ws = ws
	s.environ = command.Environ(o.Environ, o.AddedEnviron, ws, o.Offline)
	s.gitEnviron = command.GitEnviron(s.environ, ws)
	s.rules = command.Rules{Workspace: ws, Allowed: o.Allowed, Path: cliagent.Getenv(s.environ, "PATH"), Offline: o.Offline, Guarded: s.holdsSecrets}
	s.reports = reportSpellings(o.Root, ws.Path(), slices.Concat(o.Reports, o.Readable))
	return s, nil
}

// register reads the contracts of the tools.
func (s *Set) register() error {
	for _, t := range []struct {
		name    string
		prepare func(s *Set, p *PreparedCall, args json.RawMessage) error
	}{
		{"read_file", prepareRead},
		{"write_file", prepareWrite},
		{"modify_file", prepareModify},
		{"delete_file", prepareDelete},
		{"create_directory", prepareDirectory},
		{"list_directory", prepareList},
		{"search_code", prepareSearch},
		{"run_terminal", prepareTerminal},
	} {
		c, err := readContract(t.name)
		if err != nil {
			return err
		}
		if t.name == "run_terminal" {
			c.Description += s.programList()
		}
		s.tools = append(s.tools, registeredTool{contract: c, prepare: t.prepare})
	}
	return nil
}

// canonicalName returns the name of a tool for a name that models use: some request run_command.
func canonicalName(name string) string {
	if name == "run_command" {
		return "run_terminal"
	}
	return name
}

func (s *Set) find(name string) (registeredTool, error) {
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return registeredTool{}, invalidArgs(fmt.Errorf("there is no tool %q; there are: %s", head(name, 100), strings.Join(names, ", ")))
}
