package settings_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// catalog has canonical names of providers by name and alias, and the names of hook actions.
type catalog struct {
	providers map[string]string
	actions   []string
}

func (c catalog) Provider(name string) (canonical, defaultModel string, ok bool) {
	canonical, ok = c.providers[name]
	return canonical, "", ok
}

func (c catalog) Providers() []string {
	return slices.Compact(slices.Sorted(maps.Values(c.providers)))
}

func (c catalog) HookAction(name string) (string, bool) {
	return name, slices.Contains(c.actions, name)
}

func (c catalog) HookActions() []string { return c.actions }

var installed = catalog{
	providers: map[string]string{"claude": "claude", "claude-code": "claude", "codex": "codex"}, actions: []string{"script", "webhook"},
}

var program = settings.Place{File: "program"}

// U265, REQUIREMENTS C4: entries find their providers by name or alias. A program's options override the project's
// file, which overrides the user's file, value by value; configs and env are not merged.
func TestAssign(t *testing.T) {
	project, found := settings.Parse("p.yaml", []byte("providers:\n  claude: {model: p, env: [P]}\n  codex: {config: {p: 1}}\n"))
	user, more := settings.Parse("u.yaml", []byte("providers:\n  claude-code: {model: u, config: {u: 1}, env: [U]}\n  codex: {model: u, config: {u: 2}, env: [U]}\n"))
	over := []settings.Provider{{Name: "codex", Config: json.RawMessage(`{"o":3}`), ConfigAt: program}, {Name: "codex", Config: json.RawMessage(`{"o":4}`), ConfigAt: program}}
	for _, tt := range []struct {
		over []settings.Provider
		want map[string]string
	}{
		{nil, map[string]string{"claude": `p, {"u":1} u.yaml:2:27 P`, "codex": `u, {"p":1} p.yaml:3:11 U`}},
		{over, map[string]string{"claude": `p, {"u":1} u.yaml:2:27 P`, "codex": `u, {"o":4} program U`}},
	} {
		providers, faults := settings.Layers{project, user}.Assign(installed, tt.over)
		if len(found)+len(more)+len(faults) > 0 {
			t.Fatal(found, more, faults)
		}
		got := map[string]string{}
		for name, p := range providers {
			got[name] = strings.TrimSpace(p.Model + ", " + string(p.Config) + " " + p.ConfigAt.String() + " " + strings.Join(p.Env, " "))
		}
		testkit.Equal(t, tt.want, got)
	}
}

func TestAssignFindsFaults(t *testing.T) {
	s, found := settings.Parse("c.yaml", []byte("providers:\n  claude: {model: a}\n  claud: {model: b}\n  claude-code: {model: c}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got, found := settings.Layers{s}.Assign(installed, []settings.Provider{{Name: "zzz", At: program, Config: json.RawMessage("{}")}})
	want := `c.yaml:3:3: warning[AP-YAML-203]: there is no provider "claud": its settings have no effect (did you mean "claude"? available: claude, codex)
c.yaml:4:3: error[AP-YAML-106]: "claude-code" and "claude" of line 2 name the same provider "claude" (keep one of the two)
program: warning[AP-YAML-203]: there is no provider "zzz": its settings have no effect (available: claude, codex)`
	testkit.Equal(t, want, found.Error())
	if len(got) != 1 || got["claude"].Model != "a" {
		t.Errorf("assigned %+v", got)
	}
}
