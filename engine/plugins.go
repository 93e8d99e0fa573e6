package engine

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
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
