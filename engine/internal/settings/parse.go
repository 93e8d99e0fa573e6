package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Parse reads the content of a file of settings; name is its name in messages. The list holds every fault, sorted by
// position; with a fault, the settings must not be used.
func Parse(name string, data []byte) (Settings, yamldoc.Diagnostics) {
	var found yamldoc.Diagnostics
	r := reader{yamldoc.Document{File: name, Diagnostics: &found}}
	var s Settings
	if root, ok := r.Parse(data); ok {
		r.members(root, "the file", keys{
			"background": func(e yamldoc.Entry) { s.Background, s.BackgroundAt = r.background(e.Value), r.at(e.KeyPos) },
			"commands":   func(e yamldoc.Entry) { s.Commands = r.commands(e.Value) },
			"defaults":   func(e yamldoc.Entry) { s.Defaults = r.defaults(e.Value) },
			"mode":       func(e yamldoc.Entry) { s.Mode, s.ModeAt = r.mode(e.Value), r.at(e.KeyPos) },
			"notify":     func(e yamldoc.Entry) { s.Notify = r.notify(e.Value) },
			"providers":  func(e yamldoc.Entry) { s.Providers = r.providers(e.Value) },
			"sandbox": func(e yamldoc.Entry) {
				s.Sandbox, s.SandboxAt = sandboxpolicy.Read(r.Document, e.Value), r.at(e.KeyPos)
			},
		})
	}
	return s, found.Sorted()
}

// reader reads one file.
type reader struct{ yamldoc.Document }

// at returns a place in the file.
func (r reader) at(pos yamldoc.Pos) Place { return Place{File: r.File, Pos: pos} }

// keys are the readers of a map's members, by key.
type keys map[string]func(yamldoc.Entry)

// members reads a map of known keys; no value is a map without members. Keys that begin with x- are the
// user's own.
func (r reader) members(n *yamldoc.Node, label string, known keys) {
	for _, e := range r.entries(n, label) {
		read, ok := known[e.Key]
		switch {
		case ok:
			read(e)
		case !private(e.Key):
			hint := cmp.Or(elsewhere[label+" "+e.Key], suggest(e.Key, slices.Sorted(maps.Keys(known))))
			r.Errorf(e.KeyPos, yamldoc.CodeUnknownKey, hint, "unknown key %q in %s", e.Key, label)
		}
	}
}

// private reports whether a key is the user's own.
func private(key string) bool { return strings.HasPrefix(key, "x-") }

// elsewhere has hints for keys that pipelines have in these places.
var elsewhere = map[string]string{
	"the file provider": "write defaults: {provider: …} for the one to use, providers: {<name>: …} for settings of one",
	"the file delay":    "write defaults: {delay: …}",
	"the file model":    modelsHint,
	"defaults model":    modelsHint,
}

const modelsHint = "a model belongs to a provider: write providers: {<its name>: {model: …}}"

// suggest returns the hint for an unknown name.
func suggest(name string, known []string) string {
	switch near := nearest.Name(name, known); {
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case len(known) == 0:
		return ""
	default:
		return "there is " + strings.Join(known, ", ")
	}
}

// entries returns the members of a map.
func (r reader) entries(n *yamldoc.Node, label string) []yamldoc.Entry {
	switch {
	case n == nil || n.Kind == yamldoc.Null:
		return nil
	case n.Kind != yamldoc.Map:
		r.wrongType(n, label, "a map")
		return nil
	default:
		return n.Entries
	}
}

func (r reader) wrongType(n *yamldoc.Node, label, want string) {
	hint := ""
	if want == "text" && n.Kind != yamldoc.List && n.Kind != yamldoc.Map {
		hint = fmt.Sprintf("put it in quotes: %q", n.Source)
	}
	r.Errorf(n.Pos, yamldoc.CodeType, hint, "%s must be %s, not %s", label, want, n.Kind)
}

// providers reads a map of providers by name.
func (r reader) providers(n *yamldoc.Node) []Provider {
	var providers []Provider
	for _, e := range r.entries(n, "providers") {
		if e.Key == "" {
			r.Errorf(e.KeyPos, yamldoc.CodeMissing, "write the provider's name", "a provider without a name")
			continue
		}
		providers = append(providers, r.provider(e))
	}
	return providers
}

func (r reader) provider(e yamldoc.Entry) Provider {
	p := Provider{Name: e.Key, At: r.at(e.KeyPos)}
	label := "providers." + e.Key
	r.members(e.Value, label, keys{
		"model": func(e yamldoc.Entry) {
			if p.Model = r.text(e.Value, label+".model"); p.Model != "" {
				p.ModelAt = r.at(e.KeyPos)
			}
		},
		"config": func(e yamldoc.Entry) { p.setConfig(r, e, label+".config") },
		"sandbox": func(e yamldoc.Entry) {
			p.Sandbox, p.SandboxAt = sandboxpolicy.Read(r.Document, e.Value), r.at(e.KeyPos)
		},
	})
	return p
}

// setConfig keeps a map as JSON for the provider.
func (p *Provider) setConfig(r reader, e yamldoc.Entry, label string) {
	switch e.Value.Kind {
	case yamldoc.Null:
	case yamldoc.Map:
		p.Config, p.ConfigAt = e.Value.JSON(), r.at(e.KeyPos)
	default:
		r.wrongType(e.Value, label, "a map")
	}
}

// defaults reads the defaults of stages.
func (r reader) defaults(n *yamldoc.Node) Defaults {
	var d Defaults
	r.members(n, "defaults", keys{
		"provider": func(e yamldoc.Entry) {
			d.Provider, d.ProviderAt = r.text(e.Value, "defaults.provider"), r.at(e.KeyPos)
		},
		"delay": func(e yamldoc.Entry) { d.Delay, d.DelayAt = r.seconds(e.Value, "defaults.delay"), r.at(e.KeyPos) },
	})
	return d
}

// seconds reads a number of seconds that is not negative; null is none.
func (r reader) seconds(n *yamldoc.Node, label string) *float64 {
	seconds := r.number(n, label)
	if seconds != nil && *seconds < 0 {
		r.Errorf(n.Pos, yamldoc.CodeRange, "write 0 for no pause", "%s must be at least 0, not %s", label, n.Source)
		return nil
	}
	return seconds
}

// number reads a number of seconds; null is none.
func (r reader) number(n *yamldoc.Node, label string) *float64 {
	var seconds float64
	switch v := n.Any().(type) {
	case nil:
		return nil
	case int:
		seconds = float64(v)
	case float64:
		seconds = v
	default:
		r.wrongType(n, label, "a number of seconds")
		return nil
	}
	return &seconds
}

// commands reads a map of texts by name.
func (r reader) commands(n *yamldoc.Node) []Command {
	var commands []Command
	for _, e := range r.entries(n, "commands") {
		switch text := r.text(e.Value, "commands."+e.Key); {
		case e.Key == "":
			r.Errorf(e.KeyPos, yamldoc.CodeMissing, "write the command's name", "a command without a name")
		case text != "":
			commands = append(commands, Command{Name: e.Key, Text: text, At: r.at(e.KeyPos)})
		}
	}
	return commands
}

// background reads where sessions run. `off` is text in YAML 1.2 and false in YAML 1.1, which some editors write.
func (r reader) background(n *yamldoc.Node) Background {
	word := n.Source
	if n.Kind == yamldoc.Bool && !slices.Contains([]string{"true", "yes", "on"}, strings.ToLower(word)) {
		word = string(BackgroundOff)
	}
	switch b := Background(word); {
	case n.Kind == yamldoc.Null:
		return BackgroundUnset
	case n.Kind != yamldoc.Text && n.Kind != yamldoc.Bool:
		r.wrongType(n, "background", "text")
	case b == BackgroundOff, b == BackgroundDetach, b == BackgroundTmux:
		return b
	default:
		r.Errorf(n.Pos, yamldoc.CodeChoice, "write off, detach or tmux", "background cannot be %q", word)
	}
	return BackgroundUnset
}

// mode reads where models may be; null counts as unset.
func (r reader) mode(n *yamldoc.Node) string {
	word := r.text(n, "mode")
	if word != "" && !slices.Contains(plan.Modes(), word) {
		r.Errorf(n.Pos, yamldoc.CodeChoice, "write "+strings.Join(plan.Modes(), ", "), "mode cannot be %q", word)
		return ""
	}
	return word
}

// text reads text; null is none.
func (r reader) text(n *yamldoc.Node, label string) string {
	switch n.Kind {
	case yamldoc.Null:
		return ""
	case yamldoc.Text:
		return strings.TrimSpace(n.Source)
	default:
		r.wrongType(n, label, "text")
		return ""
	}
}
