package settings_test

import (
	"encoding/json"
	"maps"
	"slices"
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

// U265: entries find their providers by name or alias, and a program's word wins over the file's.
func TestAssign(t *testing.T) {
	s, found := settings.Parse("c.yaml", []byte("providers:\n  claude-code: {model: opus, config: {a: 1}}\n  codex: {config: {b: 2}}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	over := []settings.Provider{
		{Name: "claude", Config: json.RawMessage(`{"c":3}`), At: program, ConfigAt: program},
		{Name: "claude-code", Config: json.RawMessage(`{"d":4}`), At: program, ConfigAt: program},
	}
	got, found := settings.Layers{s}.Assign(installed, over)
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := map[string]settings.Provider{
		"claude": {Name: "claude-code", Model: "opus", Config: json.RawMessage(`{"d":4}`), At: program, ModelAt: s.Providers[0].ModelAt, ConfigAt: program},
		"codex":  s.Providers[1],
	}
	testkit.Equal(t, want, got)
}

func TestAssignFindsFaults(t *testing.T) {
	s, found := settings.Parse("c.yaml", []byte("providers:\n  claude: {model: a}\n  claud: {model: b}\n  claude-code: {model: c}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	got, found := settings.Layers{s}.Assign(installed, []settings.Provider{{Name: "zzz", At: program, Config: json.RawMessage("{}")}})
	want := `c.yaml:3:3: warning[AP-YAML-203]: there is no provider "claud": its settings have no effect (did you mean "claude"? available: claude, codex)
c.yaml:4:3: error[AP-YAML-106]: "claude-code" is the provider "claude", of which line 2 speaks as "claude" (keep one of the two)
program: warning[AP-YAML-203]: there is no provider "zzz": its settings have no effect (available: claude, codex)`
	testkit.Equal(t, want, found.Error())
	if len(got) != 1 || got["claude"].Model != "a" {
		t.Errorf("assigned %+v", got)
	}
}

// REQUIREMENTS C4: what the project says goes before what the user says, value by value; a config is whole.
func TestLayers(t *testing.T) {
	project, found := settings.Parse("p.yaml", []byte("background: detach\ndefaults: {provider: codex}\ncommands: {test: p}\nproviders:\n  claude: {model: p}\n  codex: {config: {p: 1}}\n"))
	user, more := settings.Parse("u.yaml", []byte("background: off\ndefaults: {provider: claude, delay: 2.5}\ncommands: {test: u, lint: u}\n"+
		"providers:\n  claude-code: {model: u, config: {u: 1}}\n  codex: {model: u, config: {u: 2}}\n"))
	if len(found)+len(more) > 0 {
		t.Fatal(found, more)
	}
	l := settings.Layers{project, user}
	if b, at := l.Background(); b != settings.BackgroundDetach || at.String() != "p.yaml:1:1" {
		t.Errorf("background %s of %s", b, at)
	}
	d := l.Defaults()
	if d.Provider != "codex" || d.ProviderAt.String() != "p.yaml:2:12" || d.Delay == nil || *d.Delay != 2.5 || d.DelayAt.String() != "u.yaml:2:30" {
		t.Errorf("defaults %+v", d)
	}
	var commands []string
	for _, c := range l.Commands() {
		commands = append(commands, c.Name+"="+c.Text+" "+c.At.String())
	}
	testkit.Equal(t, []string{"lint=u u.yaml:3:21", "test=p p.yaml:3:12"}, commands)
	providers, found := l.Assign(installed, nil)
	if len(found) > 0 {
		t.Fatal(found)
	}
	got := map[string]string{}
	for name, p := range providers {
		got[name] = p.Model + " " + p.ModelAt.String() + ", " + string(p.Config) + " " + p.ConfigAt.String()
	}
	want := map[string]string{
		"claude": `p p.yaml:5:12, {"u":1} u.yaml:5:27`,
		"codex":  `u u.yaml:6:11, {"p":1} p.yaml:6:11`,
	}
	testkit.Equal(t, want, got)
	none := settings.Layers{{}, {}}
	if b, at := none.Background(); b != settings.BackgroundUnset || at.String() != "" || none.Defaults() != (settings.Defaults{}) || none.Commands() != nil {
		t.Errorf("layers without a word say %s of %q, %+v, %+v", b, at, none.Defaults(), none.Commands())
	}
}

// A default provider that is not there is a warning: most stages may name their own.
func TestUnknownDefaultProvider(t *testing.T) {
	s, _ := settings.Parse("c.yaml", []byte("defaults: {provider: cluade}"))
	got, found := settings.Layers{s}.Assign(installed, nil)
	want := `c.yaml:1:12: warning[AP-YAML-203]: there is no provider "cluade": a stage for which nothing else names one cannot run (did you mean "claude"? available: claude, codex)`
	if found.Error() != want || len(got) > 0 {
		t.Errorf("got %+v, %s", got, found.Error())
	}
}
