package settings

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Layers are the settings of several files, the one that wins first.
type Layers []Settings

// Background is the first word on where sessions run, and where it stands.
func (l Layers) Background() (Background, Place) {
	for _, s := range l {
		if s.Background != BackgroundUnset {
			return s.Background, s.BackgroundAt
		}
	}
	return BackgroundUnset, Place{}
}

// Defaults are the first word on each of them.
func (l Layers) Defaults() Defaults {
	var d Defaults
	for _, s := range l {
		if d.Provider == "" {
			d.Provider, d.ProviderAt = s.Defaults.Provider, s.Defaults.ProviderAt
		}
		if d.Delay == nil {
			d.Delay, d.DelayAt = s.Defaults.Delay, s.Defaults.DelayAt
		}
	}
	return d
}

// Commands are the first word on each command, sorted by name.
func (l Layers) Commands() []Command {
	first := map[string]Command{}
	for _, s := range l {
		for _, c := range s.Commands {
			if _, said := first[c.Name]; !said {
				first[c.Name] = c
			}
		}
	}
	return slices.SortedFunc(maps.Values(first), func(a, b Command) int { return cmp.Compare(a.Name, b.Name) })
}

// Notify are the entries of all files, those of the first file first: the word of one keeps nobody from being told by
// another's.
func (l Layers) Notify() []Notification {
	var all []Notification
	for _, s := range l {
		all = append(all, s.Notify...)
	}
	return all
}

// Actions knows the hook actions that exist.
type Actions interface {
	// HookAction is the name of the action that a name or alias stands for, ok false for none.
	HookAction(name string) (canonical string, ok bool)
	// HookActions are the names of all, sorted.
	HookActions() []string
}

// CheckNotify finds the entries whose action does not exist: nobody would be told by them.
func (l Layers) CheckNotify(known Actions) yamldoc.Diagnostics {
	var found yamldoc.Diagnostics
	for _, n := range l.Notify() {
		if _, ok := known.HookAction(n.Action); !ok {
			n.Keys["action"].errorf(&found, yamldoc.CodeAction, suggest(n.Action, known.HookActions()), "there is no hook action %q", n.Action)
		}
	}
	return found.Sorted()
}

// Names knows the providers that exist.
type Names interface {
	// Canonical is the name of the provider that a name or alias stands for, ok false for none.
	Canonical(name string) (canonical string, ok bool)
	// Providers are the names of all, sorted.
	Providers() []string
}

// Assign says what is said of each provider, by its canonical name: the first model and the first config,
// which is whole, since configs are not mixed. over are entries that win over all files; of two for one
// provider the later counts. Two entries of one file for one provider are an error; an entry for a provider
// that does not exist is a warning and is left out, since plugins come and go.
func (l Layers) Assign(names Names, over []Provider) (map[string]Provider, yamldoc.Diagnostics) {
	a := assignment{names: names, all: map[string]Provider{}}
	for _, p := range slices.Backward(over) {
		a.add(p)
	}
	for _, s := range l {
		a.file(s)
	}
	return a.all, a.found.Sorted()
}

// assignment collects what is said of providers, the word that wins first.
type assignment struct {
	names Names
	all   map[string]Provider // by canonical name
	found yamldoc.Diagnostics
}

// file adds the entries of a file.
func (a *assignment) file(s Settings) {
	if d := s.Defaults; d.Provider != "" {
		if _, ok := a.names.Canonical(d.Provider); !ok {
			d.ProviderAt.warnf(&a.found, yamldoc.CodeProvider, suggest(d.Provider, a.names.Providers()),
				"there is no provider %q: a stage for which nothing else names one cannot run", d.Provider)
		}
	}
	seen := map[string]Provider{}
	for _, p := range s.Providers {
		name, ok := a.names.Canonical(p.Name)
		if first, twice := seen[name]; ok && twice {
			p.At.errorf(&a.found, yamldoc.CodeRepeated, "keep one of the two", "%q is the provider %q, of which line %d speaks as %q",
				p.Name, name, first.At.Pos.Line, first.Name)
			continue
		}
		seen[name] = p
		a.add(p)
	}
}

// add fills in what nothing before it has said.
func (a *assignment) add(p Provider) {
	name, ok := a.names.Canonical(p.Name)
	if !ok {
		p.At.warnf(&a.found, yamldoc.CodeProvider, suggest(p.Name, a.names.Providers()), "there is no provider %q: what is said of it has no effect", p.Name)
		return
	}
	first, said := a.all[name]
	if !said {
		a.all[name] = p
		return
	}
	if first.Model == "" {
		first.Model, first.ModelAt = p.Model, p.ModelAt
	}
	if first.Config == nil {
		first.Config, first.ConfigAt = p.Config, p.ConfigAt
	}
	a.all[name] = first
}
