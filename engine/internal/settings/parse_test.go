package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

func at(line, column int) settings.Place {
	return settings.Place{File: "config.yaml", Pos: yamldoc.Pos{Line: line, Column: column}}
}

// U265: the settings of the file are read unchanged, with their places.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []settings.Provider
	}{
		{"empty", "", nil},
		{"comments only", "# nothing yet\n", nil},
		{"keys without values", "providers:\n", nil},
		{"a provider without values", "providers:\n  claude:\n", []settings.Provider{{Name: "claude", At: at(2, 3)}}},
		{"values without values", "providers: {claude: {model: , config: ~}}", []settings.Provider{{Name: "claude", At: at(1, 13)}}},
		{
			"everything, in the order of the file",
			"x-turns: &turns 3\nproviders:\n  codex:\n    model: gpt-5\n    x-note: mine\n  claude-code:\n    config:\n" +
				"      max_turns: *turns\n      args: [--verbose, \"<&>\"]\n      is_sandbox: true\n      ratio: 0.5\n      none: null\n",
			[]settings.Provider{
				{Name: "codex", Model: "gpt-5", At: at(3, 3)},
				{
					Name: "claude-code", At: at(6, 3), ConfigAt: at(7, 5),
					Config: json.RawMessage(`{"args":["--verbose","\u003c\u0026\u003e"],"is_sandbox":true,"max_turns":3,"none":null,"ratio":0.5}`),
				},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, found := settings.Parse("config.yaml", []byte(tt.text))
			if len(found) > 0 {
				t.Fatal(found)
			}
			testkit.Equal(t, tt.want, s.Providers)
		})
	}
}

// U005, U012: defaults and commands are read with their places; a key without a value is unset.
func TestParseDefaults(t *testing.T) {
	s, found := settings.Parse("config.yaml", []byte("defaults:\n  provider: codex\n  delay: 0\ncommands:\n  test: go test ./...\n  lint:\n  -1: x\nnotify: [{action: a}]"))
	want := settings.Settings{
		Defaults: settings.Defaults{Provider: "codex", Delay: new(float64)}, Commands: map[string]string{"test": "go test ./...", "-1": "x"},
		Notify: []settings.Notification{{Action: "a", At: at(8, 10)}},
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(settings.Settings{})); diff != "" || len(found) > 0 {
		t.Errorf("%v (-want +got)\n%s", found, diff)
	}
	for path, want := range map[string]settings.Place{
		"defaults.provider": at(2, 3), "commands.lint": at(6, 3), "commands.-1": at(7, 3), "notify": at(8, 1), "notify.0": at(8, 10), "notify.0.action": at(8, 11),
		"notify.1": {}, "defaults.mode": {}, "mode": {}, "mode.x": {},
	} {
		if got := s.At(strings.Split(path, ".")...); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	s, found = settings.Parse("config.yaml", []byte("defaults: {provider: , delay: ~}\ncommands:\n"))
	if s.Defaults.Provider != "" || s.Defaults.Delay != nil || len(s.Commands) > 0 || len(found) > 0 {
		t.Errorf("%+v, %v", s, found)
	}
}

// U301: all faults are reported at once, each with its place and, if there is one, a remedy.
func TestParseFaults(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no YAML", "providers: [", "c.yaml:1:1: error[AP-YAML-001]: did not find expected node content"},
		{"a list", "- a", "c.yaml:1:1: error[AP-YAML-101]: the file must be a map, not a list"},
		{"a key twice", "providers: {}\nproviders: {}", `c.yaml:2:1: error[AP-YAML-004]: key "providers" is repeated, first in line 1 (keep one of the two)`},
		{"far key", "zzz: 1", `c.yaml:1:1: error[AP-YAML-301]: unknown key "zzz" in the file (available: background, commands, defaults, mode, notify, providers, sandbox)`},
		{"providers is a list", "providers: [claude]", "c.yaml:1:12: error[AP-YAML-101]: providers must be a map, not a list"},
		{"no place", "background: screen", `c.yaml:1:13: error[AP-YAML-104]: unknown background "screen" (available: detach, off, tmux)`},
		{"on is no place", "background: true", `c.yaml:1:13: error[AP-YAML-104]: unknown background "true" (available: detach, off, tmux)`},
		{"a list of places", "background: [tmux]", `c.yaml:1:13: error[AP-YAML-101]: background must be text, not a list`},
		{"a model without a provider", "defaults: {model: opus}\nmodel: x", `c.yaml:1:12: error[AP-YAML-301]: unknown key "model" in defaults (available: delay, provider)
c.yaml:2:1: error[AP-YAML-301]: unknown key "model" in the file (did you mean "mode"? available: background, commands, defaults, mode, notify, providers, sandbox)`},
		{"a delay in words", "defaults: {delay: soon}", "c.yaml:1:19: error[AP-YAML-101]: delay must be a number, not text"},
		{"a provider that is no text", "defaults: {provider: [a]}", "c.yaml:1:22: error[AP-YAML-101]: provider must be text, not a list"},
		{"defaults are no map", "defaults: claude", `c.yaml:1:11: error[AP-YAML-101]: defaults must be a map, not text`},
		{"commands are a list", "commands: [a]", `c.yaml:1:11: error[AP-YAML-101]: commands must be a map, not a list`},
		{"a nameless command", `commands: {"": x}`, ""},
		{"a command that is no text", "commands: {n: 3}", ""},
		{"a nameless provider", `providers: {"": {}}`, ""},
		{"empty texts in sandbox", "sandbox: ''\nproviders: {a: {sandbox: {mode: ''}}}", `c.yaml:1:10: error[AP-YAML-104]: unknown sandbox "" (available: none, strict, workspace)
c.yaml:2:33: error[AP-YAML-104]: mode is empty (write its value, or remove the key)`},
		{
			"everything at once", "providers:\n  claude:\n    models: opus\n    config: [a]\n  codex: gpt-5\n  mock:\n    model: 4.5\n    cfg: {}\n",
			`c.yaml:3:5: error[AP-YAML-301]: unknown key "models" in providers.claude (did you mean "model"? available: config, env, model, sandbox)
c.yaml:4:13: error[AP-YAML-101]: config must be a map, not a list
c.yaml:5:10: error[AP-YAML-101]: codex must be a map, not text
c.yaml:8:5: error[AP-YAML-301]: unknown key "cfg" in providers.mock (available: config, env, model, sandbox)`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, found := settings.Parse("c.yaml", []byte(tt.text))
			testkit.Equal(t, tt.want, found.Error())
		})
	}
}

// Every file is read, or refused with faults at positions in the file.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"providers: {claude: {model: opus, config: {max_turns: 3}}}", "background: off", "background: {a: 1}",
		"providers:\n  codex:\n    config: &c {models: [a]}\n  mock: {config: *c}\n",
		"defaults: {provider: a, delay: 1.5}\ncommands: {a: b, \"\": c}", "defaults: {delay: -1}\ncommands: [~]", "defaults: {delay: 1e400}",
		"provider: 1\nproviders: [2]\n? [a]\n: b\n", "x-a: &a {model: m}\nproviders: {b: {<<: *a}}", "~", "- ", "\xff",
		"notify:\n  - {action: webhook, on: [waiting, failed], timeout: 5, url: \"http://x\", headers: {a: b}}\n  - {action: script, on: paused}",
		"notify: [{}, ~, a, {action: pause, on: [], timeout: 1e9}]", "notify: [{<<: {action: a}, x-b: 1, config: {}}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, found := settings.Parse("c.yaml", data)
		for _, d := range found {
			if d.Line < 1 || d.Column < 1 || d.Message == "" || d.Code == "" {
				t.Errorf("a fault without place or words: %+v", d)
			}
		}
		if len(found) > 0 {
			return
		}
		root, faults := yamldoc.Parse(data)
		if len(faults) > 0 {
			t.Fatalf("faults of the YAML are passed over: %v", faults)
		}
		entries := root.Get("providers")
		for _, p := range s.Providers {
			written := entries.Get(p.Name)
			if written == nil {
				t.Fatalf("provider %q is not in the file", p.Name)
			}
			var config map[string]any
			if raw := p.Config; raw != nil && (json.Unmarshal(raw, &config) != nil || len(config) != len(written.Get("config").Entries)) {
				t.Errorf("config %s of %q is not the file's", raw, p.Name)
			}
			if p.At.Pos.Line < 1 || p.Config != nil && p.ConfigAt.Pos.Line < 1 {
				t.Errorf("no place in %+v", p)
			}
		}
		if d := s.Defaults; d.Delay != nil && *d.Delay < 0 || d.Provider != "" && s.At("defaults", "provider").Pos.Line < 1 {
			t.Errorf("defaults %+v", d)
		}
		if n := root.Get("notify"); len(s.Notify) > 0 && (n == nil || len(n.Items) != len(s.Notify)) {
			t.Errorf("%d entries of notify", len(s.Notify))
		}
		for _, n := range s.Notify {
			var config map[string]any
			if n.Action == "" || n.Timeout < 0 || n.Config != nil && (json.Unmarshal(n.Config, &config) != nil || len(config) == 0) {
				t.Errorf("entry of notify %+v", n)
			}
		}
		for name, text := range s.Commands {
			if text == "" || s.At("commands", name).Pos.Line < 1 {
				t.Errorf("command %s is not in the file", name)
			}
		}
	})
}
