package settings_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/settings"
)

// names are canonical names by name and alias.
type names map[string]string

func (n names) Canonical(name string) (string, bool) { c, ok := n[name]; return c, ok }

func (n names) Providers() []string {
	return slices.Compact(slices.Sorted(maps.Values(n)))
}

var installed = names{"claude": "claude", "claude-code": "claude", "codex": "codex"}

// U265: entries find their providers by name or alias, and a program's word wins over the file's.
func TestAssign(t *testing.T) {
	s, found := settings.Parse("c.yaml", []byte("providers:\n  claude-code: {model: opus, config: {a: 1}}\n  codex: {config: {b: 2}}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	over := []settings.Provider{
		{Name: "claude", Config: json.RawMessage(`{"c":3}`), File: "program"},
		{Name: "claude-code", Config: json.RawMessage(`{"d":4}`), File: "program"},
	}
	got, found := s.Assign(installed, over)
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := map[string]settings.Provider{
		"claude": {Name: "claude-code", Model: "opus", Config: json.RawMessage(`{"d":4}`), File: "program"},
		"codex":  s.Providers[1],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAssignFindsFaults(t *testing.T) {
	s, found := settings.Parse("c.yaml", []byte("providers:\n  claude: {model: a}\n  claud: {model: b}\n  claude-code: {model: c}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got, found := s.Assign(installed, []settings.Provider{{Name: "zzz", File: "program", Config: json.RawMessage("{}")}})
	want := `c.yaml:3:3: warning[AP-YAML-203]: there is no provider "claud": what is said of it has no effect (did you mean "claude"?)
c.yaml:4:3: error[AP-YAML-106]: "claude-code" is the provider "claude", of which line 2 speaks as "claude" (keep one of the two)
program: warning[AP-YAML-203]: there is no provider "zzz": what is said of it has no effect (there is claude, codex)`
	if diff := cmp.Diff(want, found.Error()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(got) != 1 || got["claude"].Model != "a" {
		t.Errorf("assigned %+v", got)
	}
}
