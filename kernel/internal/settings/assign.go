package settings

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/diagnostic"
)

// Names knows the providers that exist.
type Names interface {
	// Canonical is the name of the provider that a name or alias stands for, ok false for none.
	Canonical(name string) (canonical string, ok bool)
	// Providers are the names of all, sorted.
	Providers() []string
}

// Assign says what the user says of each provider, by its canonical name. over are entries that win over
// those of the file, value by value: a config replaces the other whole. Two entries of the file for one
// provider are an error; an entry for a provider that does not exist is a warning and is left out, since
// plugins come and go.
func (s Settings) Assign(names Names, over []Provider) (map[string]Provider, diagnostic.List) {
	var found diagnostic.List
	assigned := map[string]Provider{}
	resolve := func(p Provider) (canonical string, ok bool) {
		if canonical, ok = names.Canonical(p.Name); !ok {
			p.warnf(&found, diagnostic.CodeProvider, suggest(p.Name, names.Providers()), "there is no provider %q: what is said of it has no effect", p.Name)
		}
		return canonical, ok
	}
	for _, p := range s.Providers {
		name, ok := resolve(p)
		if !ok {
			continue
		}
		if first, twice := assigned[name]; twice {
			p.errorf(&found, diagnostic.CodeRepeated, "keep one of the two", "%q is the provider %q, of which line %d speaks as %q", p.Name, name, first.At.Line, first.Name)
			continue
		}
		assigned[name] = p
	}
	for _, p := range over {
		name, ok := resolve(p)
		if !ok {
			continue
		}
		p.Model = cmp.Or(p.Model, assigned[name].Model)
		assigned[name] = p
	}
	return assigned, found.Sorted()
}
