package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

func TestReadConfig(t *testing.T) {
	for _, tt := range []struct {
		agent, config string
		want          []string // the command line
		mode          string
		message, hint string // parts of the error
	}{
		{agent: "claude", want: []string{"claude-agent-acp"}},
		{agent: "codex", config: `{}`, want: []string{"codex-acp"}, mode: "read-only"},
		{agent: "codex", config: `{"mode":"workspace-write"}`, want: []string{"codex-acp"}, mode: "workspace-write"},
		{agent: "opencode", config: `{"command":["/opt/opencode","acp"]}`, want: []string{"/opt/opencode", "acp"}},
		{config: `{"agent":"gemini"}`, want: []string{"gemini", "--acp", "--skip-trust"}},
		{config: `{"command":["my-agent"]}`, want: []string{"my-agent"}},
		{config: ``, message: "needs an agent or a command", hint: "acp-claude, acp-codex, acp-gemini, acp-opencode"},
		{config: `{"agent":"codx"}`, message: `unknown agent "codx"`, hint: `did you mean "codex"?`},
		{config: `{"agent":"qqqqqqqq"}`, message: `unknown agent`, hint: "known agents are claude, codex, gemini, opencode"},
		{config: `{"comand":["x"]}`, message: `did you mean "command"?`},
		{agent: "claude", config: `{"agent":"codex"}`, message: `unknown key "agent"`},
		{agent: "claude", config: `{"permissions":"yes"}`, message: `unknown permissions "yes"`, hint: "ask, allow, deny"},
		{agent: "claude", config: `{"command":["", "x"]}`, message: "empty text", hint: "the first item of the list"},
		{agent: "claude", config: `{"config_options":{"a":"b","n":2}}`, message: "config_options.n", hint: "for a switch"},
	} {
		s, err := New(tt.agent, environ).readConfig(json.RawMessage(tt.config))
		if tt.message != "" {
			f := failure.From(err)
			if f == nil || f.Kind != failure.ConfigInvalid || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("%s %s: %v, want %q, hint %q", tt.agent, tt.config, err, tt.message, tt.hint)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", tt.agent, tt.config, err)
		}
		if diff := cmp.Diff([]any{tt.want, tt.mode, "ask"}, []any{s.command, s.Mode, s.Permissions}); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.agent, tt.config, diff)
		}
	}
}

// TestMissing: the error for a missing agent has the command that installs it.
func TestMissing(t *testing.T) {
	for agent, install := range map[string]string{
		"claude": "npm install -g @agentclientprotocol/claude-agent-acp", "codex": "npm install -g @agentclientprotocol/codex-acp",
		"gemini": "npm install -g @google/gemini-cli", "opencode": "npm install -g opencode-ai",
	} {
		p := New(agent, func() []string { return []string{"PATH=" + t.TempDir()} })
		f := failure.From(p.Validate(t.Context(), sdk.ValidateRequest{}))
		if f == nil || f.Kind != failure.ProviderMissing || !strings.Contains(f.Hint, install) || !strings.Contains(f.Hint, "provider acp-"+agent) {
			t.Errorf("%s: %+v", agent, f)
		}
	}
}

// TestCommand: the model is an argument for a known flag, and the environment has the configured variables.
func TestCommand(t *testing.T) {
	bin := t.TempDir()
	program := filepath.Join(bin, "gemini")
	check(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	p := New("gemini", func() []string { return []string{"PATH=" + bin, "A=1", "PLUGIN_MIN_PORT=1"} })
	s := must(p.readConfig(json.RawMessage(`{"env":{"A":"2","B":"3"}}`)))
	cmd := must(p.command(s, sdk.ExecuteRequest{Model: "pro", Environment: map[string]string{"C": "4"}}))
	if diff := cmp.Diff([]string{"--acp", "--skip-trust", "-m", "pro"}, cmd.Args); diff != "" || cmd.Path != program {
		t.Errorf("%s, arguments (-want +got):\n%s", cmd.Path, diff)
	}
	compare(t, []string{"A=2", "B=3", "C=4", "PATH=" + bin}, cmd.Env)
}

// TestPlugin: the plugin has provider acp and a provider for each known agent; the schema lists the same agents.
func TestPlugin(t *testing.T) {
	var names []string
	for _, p := range Plugin("1.0.0").Providers {
		names = append(names, p.Describe().Name)
		if has := strings.Contains(string(p.Describe().ConfigSchema), `"agent"`); has != (p.Describe().Name == name) {
			t.Errorf("%s: agent in the schema: %v", p.Describe().Name, has)
		}
	}
	compare(t, slices.Concat([]string{name}, presetNames()), names)
	var schema struct {
		Properties struct {
			Agent       struct{ Enum []string }
			Permissions struct{ Enum []string }
		}
	}
	check(t, json.Unmarshal(configSchema, &schema))
	compare(t, [][]string{agentNames(), permissions}, [][]string{schema.Properties.Agent.Enum, schema.Properties.Permissions.Enum})
}

// TestDiagnose tests the findings that doctor shows.
func TestDiagnose(t *testing.T) {
	clitest.Diagnose{
		Command: "opencode", Key: "OPENAI_API_KEY", Subject: "program",
		New: func(environ func() []string) sdk.Diagnoser { return New("opencode", environ) },
	}.Run(t)
}
