package settings

import (
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Parse reads the content of a file of settings; name is its name in messages. The list holds every fault, sorted by
// position; with a fault, the settings must not be used.
func Parse(name string, data []byte) (Settings, yamldoc.Diagnostics) {
	var found yamldoc.Diagnostics
	var s Settings
	d := yamldoc.Document{File: name, Diagnostics: &found}
	switch root, ok := d.Parse(data); {
	case !ok || root == nil: // an empty file has no settings
	case root.Kind != yamldoc.Map:
		d.Errorf(root.Pos, yamldoc.CodeType, "", "the file must be a map, not %s", root.Kind)
	default:
		s = reader{dialect.NewMap(d, root, "the file")}.settings()
	}
	return s, found.Sorted()
}

// reader reads a map of a file.
type reader struct{ dialect.Map }

// place returns the place of a key, the zero Place if it is absent.
func (r reader) place(key string) Place {
	if pos := r.KeyPos(key); pos != (yamldoc.Pos{}) {
		return Place{File: r.File, Pos: pos}
	}
	return Place{}
}

// inner returns a nested map; without one, an empty map.
func (r reader) inner(key string) reader {
	m, ok := r.MapAt(key)
	if !ok {
		m = r.Nested(&yamldoc.Node{Kind: yamldoc.Map}, key)
	}
	return reader{m}
}

func (r reader) settings() Settings {
	var own struct {
		Commands map[string]string
		Mode     string
		Defaults Defaults
	}
	r.Decode(&ConfigTable, &own)
	s := Settings{
		Defaults: own.Defaults, Mode: own.Mode, ModeAt: r.place("mode"), Background: r.background(), BackgroundAt: r.place("background"),
		Sandbox: sandboxpolicy.Read(r.Document, r.Node.Get("sandbox")), SandboxAt: r.place("sandbox"),
	}
	if defaults, ok := r.Peek("defaults"); ok {
		s.Defaults.ProviderAt, s.Defaults.DelayAt = reader{defaults}.place("provider"), reader{defaults}.place("delay")
	}
	if commands, ok := r.Peek("commands"); ok {
		for _, e := range commands.Node.Entries {
			if text := own.Commands[e.Key]; text != "" {
				s.Commands = append(s.Commands, Command{Name: e.Key, Text: text, At: reader{commands}.place(e.Key)})
			}
		}
	}
	providers := r.inner("providers")
	for _, e := range providers.Node.Entries {
		s.Providers = append(s.Providers, providers.provider(e.Key))
	}
	items, _ := r.List("notify")
	for _, item := range items {
		if item.Kind != yamldoc.Map {
			r.WrongItem(item, "an entry of notify", "a map")
			continue
		}
		s.Notify = append(s.Notify, reader{r.Nested(item, "an entry of notify")}.notification())
	}
	return s
}

// provider reads the settings of the provider with a name.
func (r reader) provider(name string) Provider {
	p := Provider{Name: name, At: r.place(name)}
	own := r.inner(name)
	own.Label = "providers." + name
	own.Decode(&providerTable, &p)
	if p.Model != "" {
		p.ModelAt = own.place("model")
	}
	if config, ok := own.MapAt("config"); ok {
		p.Config, p.ConfigAt = config.Node.JSON(), own.place("config")
	}
	p.Sandbox, p.SandboxAt = sandboxpolicy.Read(own.Document, own.Node.Get("sandbox")), own.place("sandbox")
	return p
}

// background reads where sessions run. `off` is text in YAML 1.2 and false in YAML 1.1, which some editors write.
func (r reader) background() Background {
	v, choices := r.Get("background"), ConfigTable.Choices("background")
	switch {
	case v.Node == nil:
		return BackgroundUnset
	case v.Kind == yamldoc.Bool && v.Any() == false:
		return BackgroundOff
	case !slices.Contains(choices, v.Source):
		r.Errorf(v.Pos, yamldoc.CodeChoice, dialect.DidYouMean(v.Source, choices), "unknown background %q", v.Source)
		return BackgroundUnset
	default:
		return Background(v.Source)
	}
}

// notification reads an entry of notify. The keys that its table does not define are the action's.
func (r reader) notification() Notification {
	var own struct {
		Action  string
		Timeout float64
	}
	r.Decode(&notifyTable, &own)
	n := Notification{
		Action: own.Action, On: r.points(), Timeout: plan.Seconds(own.Timeout),
		At: Place{File: r.File, Pos: r.Node.Pos}, Keys: map[string]Place{},
	}
	var config []yamldoc.Entry
	for _, e := range r.Node.Entries {
		key := e.Key
		switch {
		case private(key):
			continue
		case !slices.Contains(notifyTable.Names(), key):
			config, key = append(config, e), "config"
		}
		if _, first := n.Keys[key]; !first {
			n.Keys[key] = r.place(e.Key)
		}
	}
	if len(config) > 0 {
		n.Config = (&yamldoc.Node{Kind: yamldoc.Map, Entries: config}).JSON()
	}
	return n
}

// points reads one point or a list of them; nil if there is none.
func (r reader) points() []sdk.HookPoint {
	v, choices := r.Get("on"), notifyTable.Choices("on")
	if v.Node == nil {
		return nil
	}
	items := []*yamldoc.Node{v.Node}
	if v.Kind == yamldoc.List {
		items = v.Items
	}
	if len(items) == 0 {
		r.Errorf(v.Pos, yamldoc.CodeMissing, dialect.DidYouMean("", choices), "on names no status")
	}
	var points []sdk.HookPoint
	for _, item := range items {
		if !slices.Contains(choices, item.Source) {
			r.Errorf(item.Pos, yamldoc.CodeChoice, dialect.DidYouMean(item.Source, choices), "unknown status %q in on", item.Source)
		}
		points = append(points, sdk.HookPoint(item.Source))
	}
	return points
}

// private reports whether a key is the user's own.
func private(key string) bool { return strings.HasPrefix(key, "x-") }
