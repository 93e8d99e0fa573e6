package settings

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Layers are the settings of several files, the file with the highest precedence first.
type Layers []Settings

// Notify returns the entries of all files, those of the first file first: no entry overrides another.
func (l Layers) Notify() []Notification {
	var all []Notification
	for _, s := range l {
		all = append(all, s.Notify...)
	}
	return all
}

// CheckNotify finds the entries whose action does not exist: such entries would have no effect.
func (l Layers) CheckNotify(known Catalog) yamldoc.Diagnostics {
	var found yamldoc.Diagnostics
	for _, s := range l {
		for i, n := range s.Notify {
			if _, ok := known.HookAction(n.Action); !ok {
				s.At("notify", strconv.Itoa(i), "action").in(&found).Errorf(yamldoc.CodeAction, dialect.DidYouMean(n.Action, known.HookActions()), "there is no hook action %q", n.Action)
			}
		}
	}
	return found.Sorted()
}

// Catalog knows the components that exist.
type Catalog interface {
	// Provider returns the name of the provider with a name or alias; ok is false if there is none.
	Provider(name string) (canonical, defaultModel string, ok bool)
	// Providers returns the names of all providers, sorted.
	Providers() []string
	// HookAction returns the name of the hook action with a name or alias; ok is false if there is none.
	HookAction(name string) (canonical string, ok bool)
	// HookActions returns the names of all hook actions, sorted.
	HookActions() []string
}

// Assign returns the settings of each provider by its canonical name: the first model, config and env; they are
// not merged. over are entries that override all files; of two entries for one provider, the later counts. Two entries
// of one file for one provider are an error. An entry for a missing provider is left out with a warning, because
// plugins may be removed.
func (l Layers) Assign(names Catalog, over []Provider) (map[string]Provider, yamldoc.Diagnostics) {
	a := assignment{names: names, all: map[string]Provider{}}
	for _, p := range slices.Backward(over) {
		a.add(p)
	}
	for _, s := range l {
		a.file(s)
	}
	return a.all, a.diagnostics.Sorted()
}

// assignment collects the settings of providers, in the order of precedence.
type assignment struct {
	names       Catalog
	all         map[string]Provider // by canonical name
	diagnostics yamldoc.Diagnostics
}

// file adds the entries of a file.
func (a *assignment) file(s Settings) {
	if d := s.Defaults; d.Provider != "" {
		if _, _, ok := a.names.Provider(d.Provider); !ok {
			s.At("defaults", "provider").in(&a.diagnostics).Warnf(yamldoc.CodeProvider, dialect.DidYouMean(d.Provider, a.names.Providers()),
				"there is no provider %q: stages that use this default cannot run", d.Provider)
		}
	}
	seen := map[string]Provider{}
	for _, p := range s.Providers {
		name, _, ok := a.names.Provider(p.Name)
		if first, twice := seen[name]; ok && twice {
			p.At.in(&a.diagnostics).Errorf(yamldoc.CodeRepeated, "keep one of the two", "%q and %q of line %d name the same provider %q",
				p.Name, first.Name, first.At.Pos.Line, name)
			continue
		}
		seen[name] = p
		a.add(p)
	}
}

// add adds the settings of an entry that no earlier entry has.
func (a *assignment) add(p Provider) {
	name, _, ok := a.names.Provider(p.Name)
	if !ok {
		p.At.in(&a.diagnostics).Warnf(yamldoc.CodeProvider, dialect.DidYouMean(p.Name, a.names.Providers()), "there is no provider %q: its settings have no effect", p.Name)
		return
	}
	first, known := a.all[name]
	if !known {
		a.all[name] = p
		return
	}
	first.Model = cmp.Or(first.Model, p.Model)
	if first.Config == nil {
		first.Config, first.ConfigAt = p.Config, p.ConfigAt
	}
	if first.Env == nil {
		first.Env = p.Env
	}
	a.all[name] = first
}
