package catalog

import (
	"context"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Config configures a [Catalog].
type Config struct {
	// Search is the result of the search for plugins.
	Search SearchResult
	// Verifier checks binaries before they are described.
	Verifier *Verifier
	// Cache keeps descriptions.
	Cache *Cache
	// Describe starts a plugin, asks for its description and ends it.
	Describe func(ctx context.Context, b *Binary) (sdk.Description, error)
	// DescribeRunning asks a plugin whose process already runs.
	DescribeRunning func(ctx context.Context, c Plugin) (sdk.Description, error)
	// Shared is a catalog whose registered components this catalog also has, nil for none.
	Shared *Catalog
}

// Catalog lists the components of plugins and of this process. It is safe for concurrent use.
type Catalog struct {
	cfg Config

	describing sync.Mutex // held while the plugins are described

	mu      sync.Mutex
	local   []Entry
	plugins []DescribedPlugin // nil until they are described
}

// Entry is one component.
type Entry struct {
	// Component is the component's description.
	Component sdk.Component
	// Plugin is the component's plugin; the zero value for a component of this process.
	Plugin Plugin
	// Target is the component of this process, nil for a component of a plugin.
	Target any
	// Hides are the command lines of the plugins with a component of the same kind and name, which is not used.
	Hides []string
}

// DescribedPlugin is a plugin with its description or its error.
type DescribedPlugin struct {
	Plugin
	// SHA256 is the binary's digest, "" if it is unknown.
	SHA256 string `json:"sha256,omitempty"`
	// LockStatus is the result of the comparison with the locks.
	LockStatus LockStatus `json:"standing"`
	// Description is the plugin's description; empty with a Fault.
	Description sdk.Description `json:"description"`
	// Fault is the reason why the plugin cannot be used, nil if it can.
	Fault *failure.Error `json:"-"`
}

// New returns a catalog; nothing is started yet.
func New(cfg Config) *Catalog { return &Catalog{cfg: cfg} }

// Register adds a component of this process. A second component of the same kind and name is an error.
func (c *Catalog) Register(component sdk.Component, target any) error {
	if component.Name == "" {
		return fmt.Errorf("register a %s: its description has no name", component.Kind)
	}
	var shared []Entry
	if c.cfg.Shared != nil {
		shared = c.cfg.Shared.registered()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range slices.Concat(shared, c.local) {
		if matches(e.Component, component.Kind, component.Name) {
			return fmt.Errorf("register %s %q: the name is taken by another registered component", component.Kind, component.Name)
		}
	}
	c.local = append(c.local, Entry{Component: component, Target: target})
	return nil
}

// registered returns the components of this process, those of the shared catalog first.
func (c *Catalog) registered() []Entry {
	var all []Entry
	if c.cfg.Shared != nil {
		all = c.cfg.Shared.registered()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(all, c.local...)
}

// Plugins describes every plugin found, once. A plugin without a description is listed with its error and does
// not affect the others. The only error is the cause of ctx.
func (c *Catalog) Plugins(ctx context.Context) ([]DescribedPlugin, error) {
	c.describing.Lock()
	defer c.describing.Unlock()
	if known := c.describedPlugins(); known != nil {
		return known, nil
	}
	candidates := c.cfg.Search.Plugins
	plugins := make([]DescribedPlugin, len(candidates))
	var wait sync.WaitGroup
	slots := make(chan struct{}, maxDescribers)
	for i, candidate := range candidates {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			plugins[i] = c.describePlugin(ctx, candidate)
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plugins = plugins
	return plugins, nil
}

// maxDescribers is the number of plugins that are described at once.
const maxDescribers = 4

func (c *Catalog) describedPlugins() []DescribedPlugin {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plugins
}

func (c *Catalog) describePlugin(ctx context.Context, candidate Plugin) DescribedPlugin {
	p := DescribedPlugin{Plugin: candidate}
	if candidate.Running != nil {
		var err error
		p.Description, err = c.cfg.DescribeRunning(ctx, candidate)
		p.Fault = failure.From(err)
		return p
	}
	b, err := candidate.Read(c.cfg.Verifier)
	if err != nil {
		p.Fault = failure.From(err)
		return p
	}
	defer b.Close()
	p.SHA256, p.LockStatus = b.SHA256, c.cfg.Verifier.LockStatus(b.Name, b.SHA256)
	if err := c.cfg.Verifier.Check(b); err != nil {
		p.Fault = failure.From(err)
		return p
	}
	p.Description, err = c.Describe(ctx, candidate, b)
	p.Fault = failure.From(err)
	return p
}

// Describe returns the description of a plugin with a verified binary: from [Plugin.Describe] if set, else from the
// cache, else from a started process.
func (c *Catalog) Describe(ctx context.Context, candidate Plugin, b *Binary) (sdk.Description, error) {
	if candidate.Describe != nil {
		return describeBundled(candidate)
	}
	if d, ok := c.cfg.Cache.Get(b); ok {
		return d, nil
	}
	if f := c.cfg.Cache.NoResponse(b); f != nil {
		return sdk.Description{}, f
	}
	d, err := c.cfg.Describe(ctx, b)
	if failure.KindOf(err) == failure.ProviderTimeout && ctx.Err() == nil {
		c.cfg.Cache.PutNoResponse(b, failure.From(err))
	}
	if err != nil {
		return sdk.Description{}, err
	}
	c.cfg.Cache.Put(b, d)
	return d, nil
}

// describeBundled describes a bundled plugin in this process.
func describeBundled(candidate Plugin) (sdk.Description, error) {
	d, err := candidate.Describe()
	if err == nil {
		err = client.CheckDescription(d)
	}
	if err != nil {
		return sdk.Description{}, failure.New(failure.PluginInvalid, "plugin %s cannot be described: %w", candidate.Command(), err).
			WithHint("this is a mistake in the program that carries the plugin; report it")
	}
	return d, nil
}

// Clash reports whether two components of one kind share a name or alias.
func Clash(a, b sdk.Component) bool {
	names := append([]string{b.Name}, b.Aliases...)
	return a.Kind == b.Kind && slices.ContainsFunc(append([]string{a.Name}, a.Aliases...), func(n string) bool { return slices.Contains(names, n) })
}

func matches(c sdk.Component, kind sdk.Kind, name string) bool {
	return c.Kind == kind && c.Name == name
}
