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

// projectLock is where a project may lock plugins, besides what its user locks.
const projectLock = ".claude/plugins.lock"

// Plugins is what `plugins list` shows.
type Plugins = pluginhost.Listing

// IgnoredPlugin is a file or directory of [Plugins] that was passed over, and why.
type IgnoredPlugin = pluginhost.Ignored

// PluginConflict is a component of [Plugins] that another of its name hides.
type PluginConflict = pluginhost.Conflict

// PluginPlace is a directory in which plugins were looked for.
type PluginDir = pluginhost.SearchDir

// LockRequest says what [Engine.LockPlugins] is to lock or to check.
type LockRequest = pluginhost.LockRequest

// LockReport is what [Engine.LockPlugins] found or wrote, with a LockEntry for each plugin.
type LockReport = pluginhost.LockReport

// LockEntry is one plugin of a [LockReport].
type LockEntry = pluginhost.LockEntry

// InstallRequest says what [Engine.InstallPlugin] is to install.
type InstallRequest = pluginhost.InstallRequest

// Installed is what it installed.
type Installed = pluginhost.Installed

// Removed is what [Engine.RemovePlugin] removed.
type Removed = pluginhost.Removed

// ErrNoPlugin says that there is no such plugin, or that it is not the user's to change.
var ErrNoPlugin = pluginhost.ErrNoPlugin

// ErrInstalled says that another plugin or version of the name is installed, and would be replaced.
var ErrInstalled = pluginhost.ErrInstalled

// Plugins describes what plugins there are, and what was passed over and why. Plugins that are not
// remembered are started to describe themselves.
func (e *Engine) Plugins(ctx context.Context) (Plugins, error) { return e.host.List(ctx) }

// LockPlugins writes the digests of plugins into the user's plugins.lock or the project's, or compares them. It
// holds for engines that are made from now on. Plugins that differ are a failure of kind plugin_untrusted.
func (e *Engine) LockPlugins(req LockRequest) (LockReport, error) { return e.host.Lock(req) }

// InstallPlugin puts a plugin, from its binary or from an archive, into the user's plugin directory and locks it.
// The plugin is started once, to say what it is. Engines that are made from now on find it. When it fails,
// nothing has changed; nothing is loaded from the network.
func (e *Engine) InstallPlugin(ctx context.Context, req InstallRequest) (Installed, error) {
	return e.host.Install(ctx, req)
}

// RemovePlugin takes a plugin out of the user's plugin directory and out of plugins.lock.
func (e *Engine) RemovePlugin(ctx context.Context, name string) (Removed, error) {
	return e.host.Remove(ctx, name)
}

// Trust remembers that the user trusts a directory, for all engines of this user.
func (e *Engine) Trust(dir string) error { return e.host.Trust(dir) }

// Distrust takes that back and says whether the directory was trusted. One above it that is trusted still covers it.
func (e *Engine) Distrust(dir string) (was bool, err error) { return e.host.Distrust(dir) }

// Trusted lists the directories that the user trusts, sorted.
func (e *Engine) Trusted() ([]string, error) { return e.host.Trusted() }

// examineLimit bounds what is found out about one provider, the start of its process included.
const examineLimit = 20 * time.Second

// ProviderCheck is what a provider would do if a run asked for it now, as far as that can be told without network and
// without cost.
type ProviderCheck struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Summary string   `json:"summary,omitempty"`
	// Default: it works for stages for which nobody names a provider.
	Default bool `json:"default"`
	// Findings are what it tells of what it depends on. Those that tell nothing have none.
	Findings []sdk.Finding `json:"findings"`
	// Failure is why it refuses to work, nil if it does not: as a run would be told before it begins.
	Failure *failure.Error `json:"-"`
}

// CheckProviders asks every provider, configured as the settings say, whether it would work. Plugin processes are started
// for it; they end with the engine. They are sorted: the default first, then by name. The error is [Diagnostics] if a file of
// settings has faults, else ctx's alone: a provider that does not work is a line of the list.
func (e *Engine) CheckProviders(ctx context.Context) ([]ProviderCheck, error) {
	configs, _, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	known, err := e.host.List(ctx)
	if err != nil {
		return nil, err
	}
	preferred := e.defaultProvider(ctx)
	var checks []ProviderCheck
	seen := map[string]bool{}
	take := func(components []sdk.Component) {
		for _, c := range components {
			if c.Kind != sdk.KindProvider || seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			checks = append(checks, ProviderCheck{Name: c.Name, Aliases: c.Aliases, Summary: c.Summary, Default: c.Name == preferred})
		}
	}
	take(known.Registered)
	for _, p := range known.Plugins {
		take(p.Description.Components)
	}
	var wait sync.WaitGroup
	for i := range checks {
		wait.Go(func() { e.examine(ctx, &checks[i], configs) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(checks, func(a, b ProviderCheck) int {
		if a.Default != b.Default {
			return cmp.Compare(rank(a.Default), rank(b.Default))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return checks, nil
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// defaultProvider is the canonical name of the provider of stages that name none, "" for none.
func (e *Engine) defaultProvider(ctx context.Context) string {
	name := cmp.Or(e.config.standIn, e.settings.defaults().Provider, e.config.fallback)
	if c, err := e.host.Component(ctx, sdk.KindProvider, name); err == nil {
		return c.Name
	}
	return name
}

// examine fills in what one provider says.
func (e *Engine) examine(ctx context.Context, check *ProviderCheck, configs userConfigs) {
	ctx, cancel := context.WithTimeoutCause(ctx, examineLimit, failure.New(failure.ProviderTimeout, "provider %s did not answer within %s", check.Name, examineLimit))
	defer cancel()
	check.Findings = []sdk.Finding{}
	provider, err := e.host.Provider(ctx, check.Name, pluginhost.Use{})
	if err != nil {
		check.Failure = failure.From(err)
		return
	}
	if x, ok := configs.of(provider).(sdk.Examiner); ok {
		findings, err := x.Examine(ctx, sdk.ValidateRequest{})
		check.Findings = append(check.Findings, findings...)
		check.Failure = failure.From(err)
	}
}

// Isolation is what this system can do of a mode of isolation (policy.sandbox).
type Isolation struct {
	Mode string `json:"mode"` // workspace or strict
	// Landlock is the ABI of this system's Landlock that is used, 0 for none; Bubblewrap the version of bubblewrap, "" for none.
	Landlock   int    `json:"landlock,omitempty"`
	Bubblewrap string `json:"bubblewrap,omitempty"`
	// Failure is why the mode cannot be had, nil if it can.
	Failure *failure.Error `json:"-"`
}

// CheckIsolation tries every mode of isolation with a process that does nothing.
func (e *Engine) CheckIsolation(ctx context.Context) []Isolation {
	var all []Isolation
	for _, mode := range []sandboxpolicy.Mode{sandboxpolicy.Workspace, sandboxpolicy.Strict} {
		got, err := e.host.Probe(ctx, mode)
		all = append(all, Isolation{Mode: string(mode), Landlock: got.Landlock, Bubblewrap: got.Bubblewrap, Failure: failure.From(err)})
	}
	return all
}
