package settings

import (
	"maps"
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

func (r reader) settings() Settings {
	s := Settings{file: r.File, root: r.Node}
	r.Decode(&ConfigTable, &s)
	maps.DeleteFunc(s.Commands, func(_, text string) bool { return text == "" })
	s.Sandbox = sandboxpolicy.Read(r.Document, r.Node.Get("sandbox"))
	if providers, ok := r.MapAt("providers"); ok {
		for _, e := range providers.Node.Entries {
			s.Providers = append(s.Providers, reader{providers}.provider(e.Key))
		}
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
	p := Provider{Name: name, At: Place{r.File, r.KeyPos(name)}}
	own, ok := r.MapAt(name)
	if !ok {
		return p
	}
	own.Label = "providers." + name
	own.Decode(&providerTable, &p)
	if config, ok := own.MapAt("config"); ok {
		p.Config, p.ConfigAt = config.Node.JSON(), Place{r.File, own.KeyPos("config")}
	}
	p.Sandbox = sandboxpolicy.Read(own.Document, own.Node.Get("sandbox"))
	return p
}

// notification reads an entry of notify. The keys that notifyTable does not define belong to the action.
func (r reader) notification() Notification {
	var own struct {
		Action  string
		Timeout float64
	}
	r.Decode(&notifyTable, &own)
	n := Notification{Action: own.Action, On: r.points(), Timeout: plan.Seconds(own.Timeout), At: Place{r.File, r.Node.Pos}}
	config := slices.DeleteFunc(slices.Clone(r.Node.Entries), func(e yamldoc.Entry) bool {
		return private(e.Key) || slices.Contains(notifyTable.Names(), e.Key)
	})
	if len(config) > 0 {
		n.Config, n.ConfigAt = (&yamldoc.Node{Kind: yamldoc.Map, Entries: config}).JSON(), Place{r.File, config[0].KeyPos}
	}
	return n
}

// points reads one point or a list of points; nil if there is none.
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
		r.Errorf(v.Pos, yamldoc.CodeMissing, dialect.DidYouMean("", choices), "key 'on' names no status")
	}
	var points []sdk.HookPoint
	for _, item := range items {
		if !slices.Contains(choices, item.Source) {
			r.Errorf(item.Pos, yamldoc.CodeChoice, dialect.DidYouMean(item.Source, choices), "unknown status %q in key 'on'", item.Source)
		}
		points = append(points, sdk.HookPoint(item.Source))
	}
	return points
}

// private reports whether a key is the user's own.
func private(key string) bool { return strings.HasPrefix(key, "x-") }
