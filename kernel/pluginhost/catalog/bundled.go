package catalog

import (
	"fmt"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Bundled is a plugin that the running program contains: started with Args, the program serves it in that
// process and does nothing else.
type Bundled struct {
	// Name is the plugin's name, as in agent-plugin-<name>.
	Name string
	// Args are the arguments; at least one.
	Args []string
	// Describe describes the plugin in this process, so that none has to be started. It must return the same
	// as the served plugin. Nil: the plugin is started, and its description cached.
	Describe func() (sdk.Description, error)
}

// CheckBundled returns an error for an invalid list of bundled plugins.
func CheckBundled(bundled []Bundled) error {
	taken := map[string]bool{}
	for _, b := range bundled {
		switch {
		case !validName.MatchString(b.Name):
			return fmt.Errorf("bundled plugin %q: a name has lower case letters, digits, '-' and '_'", b.Name)
		case len(b.Args) == 0:
			return fmt.Errorf("bundled plugin %q has no arguments: the program could not know what to serve", b.Name)
		case taken[b.Name]:
			return fmt.Errorf("bundled plugin %q is there twice", b.Name)
		}
		taken[b.Name] = true
	}
	return nil
}

// addBundled adds the program's own plugins whose names were not found before.
func (s Search) addBundled(f *SearchResult, first map[string]string) {
	f.OffBy = s.BundledOff
	for _, b := range s.Bundled {
		c := Plugin{Name: b.Name, Path: s.Program, Args: b.Args, Source: FromBundle}
		if b.Describe != nil {
			c.Describe = sync.OnceValues(b.Describe)
		}
		earlier, taken := first[b.Name]
		switch {
		case s.BundledOff != "":
			f.addIgnored(c.Command(), "turned off by "+s.BundledOff)
			f.Off = append(f.Off, c)
		case taken:
			f.addIgnored(c.Command(), "shadowed by "+earlier)
		default:
			f.Plugins = append(f.Plugins, c)
		}
	}
}

// Command returns the plugin's command line for messages; "" for no plugin.
func (c Plugin) Command() string { return Command(c.Path, c.Args) }

// Open opens and checks the plugin's program, see [Verifier.Open]. The caller closes it.
func (c Plugin) Open(v *Verifier) (*Binary, error) {
	return v.checkLocks(c.Read(v))
}

// Read opens the plugin's program as Open does, without checking its digest against the locks.
func (c Plugin) Read(v *Verifier) (*Binary, error) {
	if c.Source == FromBundle {
		return v.ReadSelf(Prefix+c.Name, c.Args)
	}
	return v.Read(c.Path)
}
