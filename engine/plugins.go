package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// projectLockFile is the project's lock file for plugins, in addition to the user's.
const projectLockFile = ".claude/plugins.lock"

// Plugins is the content of `plugins list`.
type Plugins = pluginhost.Listing

// IgnoredPlugin is a file or directory that is not loaded as a plugin, with the reason.
type IgnoredPlugin = pluginhost.Ignored

// PluginConflict is a component hidden by another one of the same name.
type PluginConflict = pluginhost.Conflict

// PluginDir is a directory that was searched for plugins.
type PluginDir = pluginhost.SearchDir

// LockRequest selects the plugins for [Engine.LockPlugins].
type LockRequest = pluginhost.LockRequest

// LockReport is the result of [Engine.LockPlugins], with a LockEntry for each plugin.
type LockReport = pluginhost.LockReport

// LockEntry is one plugin of a [LockReport].
type LockEntry = pluginhost.LockEntry

// InstallRequest selects the plugin for [Engine.InstallPlugin].
type InstallRequest = pluginhost.InstallRequest

// InstallResult is the result of [Engine.InstallPlugin].
type InstallResult = pluginhost.Installation

// RemoveResult is the result of [Engine.RemovePlugin].
type RemoveResult = pluginhost.Removal

// ErrNoPlugin means that no such plugin exists, or that the user may not change it.
var ErrNoPlugin = pluginhost.ErrNoPlugin

// ErrInstalled means that another plugin or version of the name is installed and would be replaced.
var ErrInstalled = pluginhost.ErrInstalled

// Plugins describes all plugins, and the files that were ignored with the reasons. Plugins without a cached
// description are started.
func (e *Engine) Plugins(ctx context.Context) (Plugins, error) { return e.host.List(ctx) }

// LockPlugins writes the digests of plugins into the user's or the project's plugins.lock, or compares them.
// It affects engines created later. A difference is a failure of kind plugin_untrusted.
func (e *Engine) LockPlugins(req LockRequest) (LockReport, error) { return e.host.Lock(req) }

// InstallPlugin installs a plugin from its binary or an archive into the user's plugin directory and locks
// it. It starts the plugin once to get its description, and uses no network. Engines created later find the
// plugin. On failure nothing has changed.
func (e *Engine) InstallPlugin(ctx context.Context, req InstallRequest) (InstallResult, error) {
	return e.host.Install(ctx, req)
}

// RemovePlugin removes a plugin from the user's plugin directory and from plugins.lock.
func (e *Engine) RemovePlugin(ctx context.Context, name string) (RemoveResult, error) {
	return e.host.Remove(ctx, name)
}

// Trust records that the user trusts a directory, for all engines of this user.
func (e *Engine) Trust(dir string) error { return e.host.Trust(dir) }

// Distrust removes a directory from the trusted ones and reports whether it was trusted. A trusted parent
// directory still covers it.
func (e *Engine) Distrust(dir string) (was bool, err error) { return e.host.Distrust(dir) }

// Trusted returns the directories that the user trusts, sorted.
func (e *Engine) Trusted() ([]string, error) { return e.host.Trusted() }

// diagnoseTimeout bounds the check of one provider, including its start.
const diagnoseTimeout = 20 * time.Second

// ProviderCheck describes whether a provider is ready, as far as it can be found without network or cost.
type ProviderCheck struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Summary string   `json:"summary,omitempty"`
	// Default reports that the provider is used by stages that name none.
	Default bool `json:"default"`
	// Findings are the provider's findings about its dependencies; may be empty.
	Findings []sdk.Finding `json:"findings"`
	// Failure says why the provider refuses to work, nil if it does not. A run would fail with it.
	Failure *failure.Error `json:"-"`
}

// CheckProviders asks every provider, configured by the settings, whether it is ready. It starts plugin
// processes, which end with the engine. The default provider is first, the others follow by name. The error
// is [Diagnostics] if a settings file has faults, or ctx's; an unusable provider is an entry of the list.
func (e *Engine) CheckProviders(ctx context.Context) ([]ProviderCheck, error) {
	configs, _, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	listing, err := e.host.List(ctx)
	if err != nil {
		return nil, err
	}
	preferred := e.defaultProvider(ctx)
	var checks []ProviderCheck
	seen := map[string]bool{}
	add := func(components []sdk.Component) {
		for _, c := range components {
			if c.Kind != sdk.KindProvider || seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			checks = append(checks, ProviderCheck{Name: c.Name, Aliases: c.Aliases, Summary: c.Summary, Default: c.Name == preferred})
		}
	}
	add(listing.Registered)
	for _, p := range listing.Plugins {
		add(p.Description.Components)
	}
	var wait sync.WaitGroup
	for i := range checks {
		wait.Go(func() { e.diagnose(ctx, &checks[i], configs) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(checks, func(a, b ProviderCheck) int {
		if a.Default != b.Default {
			if a.Default {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return checks, nil
}

// defaultProvider returns the canonical name of the provider of stages that name none, "" for none.
func (e *Engine) defaultProvider(ctx context.Context) string {
	name := cmp.Or(e.config.providerOverride, e.settings.defaults().Provider, e.config.defaultProvider)
	if c, err := e.host.Component(ctx, sdk.KindProvider, name); err == nil {
		return c.Name
	}
	return name
}

// diagnose fills in the findings of one provider.
func (e *Engine) diagnose(ctx context.Context, check *ProviderCheck, configs providerConfigs) {
	ctx, cancel := context.WithTimeoutCause(ctx, diagnoseTimeout, failure.New(failure.ProviderTimeout, "provider %s did not answer within %s", check.Name, diagnoseTimeout))
	defer cancel()
	check.Findings = []sdk.Finding{}
	provider, err := e.host.Provider(ctx, check.Name, pluginhost.Use{})
	if err != nil {
		check.Failure = failure.From(err)
		return
	}
	if x, ok := configs.configure(provider).(sdk.Diagnoser); ok {
		findings, err := x.Diagnose(ctx, sdk.ValidateRequest{})
		check.Findings = append(check.Findings, findings...)
		check.Failure = failure.From(err)
	}
}

// Isolation describes this system's support of an isolation mode (policy.sandbox).
type Isolation struct {
	Mode string `json:"mode"` // workspace or strict
	// Landlock is the usable Landlock ABI, 0 for none. Bubblewrap is the version of bubblewrap, "" for none.
	Landlock   int    `json:"landlock,omitempty"`
	Bubblewrap string `json:"bubblewrap,omitempty"`
	// Failure says why the mode is unavailable, nil if it is available.
	Failure *failure.Error `json:"-"`
}

// CheckIsolation tries every isolation mode with an empty process.
func (e *Engine) CheckIsolation(ctx context.Context) []Isolation {
	var all []Isolation
	for _, mode := range []sandboxpolicy.Mode{sandboxpolicy.Workspace, sandboxpolicy.Strict} {
		got, err := e.host.Probe(ctx, mode)
		all = append(all, Isolation{Mode: string(mode), Landlock: got.Landlock, Bubblewrap: got.Bubblewrap, Failure: failure.From(err)})
	}
	return all
}
