package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Removal describes a removed plugin.
type Removal struct {
	Name string `json:"name"`
	// Path is the deleted file, "" if only the lock had the plugin.
	Path string `json:"path,omitempty"`
	// Unlocked reports that the plugin had an entry for this platform in plugins.lock. Entries of other platforms stay.
	Unlocked bool `json:"unlocked"`
}

// Remove deletes a plugin's file from the user's plugin directory, and its entry for this platform from
// plugins.lock. found is false if the user has neither; nothing has changed then.
func (in Installer) Remove(ctx context.Context, name string) (r Removal, found bool, err error) {
	release, err := in.lockDir(ctx)
	if err != nil {
		return Removal{}, false, err
	}
	defer release()
	r.Name = name
	if r.Path, err = in.removeFile(name); err != nil {
		return Removal{}, true, err
	}
	lock, err := in.Store.Lock()
	if err != nil {
		return r, true, err
	}
	file := catalog.Prefix + name
	if _, r.Unlocked = lock.Digest(file, catalog.Platform()); r.Unlocked {
		err = in.Store.ChangeLock(in.Store.LockPath(), func(l catalog.Lock) { l.Set(file, catalog.Platform(), "") })
	}
	return r, r.Path != "" || r.Unlocked, err
}

// removeFile returns the path of the deleted file, "" if there was none.
func (in Installer) removeFile(name string) (string, error) {
	path := in.path(name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && info.IsDir() {
		return "", failure.New(failure.PluginInvalid, "%s is a directory, not a plugin", path).WithHint("remove it yourself")
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return "", failure.New(failure.PluginInvalid, "remove %s: %w", path, err).WithHint("make sure that you can write into %s", in.Dir())
	}
	return path, nil
}

// RemovePlugin deletes a plugin from the user's plugin directory and from plugins.lock. A plugin elsewhere is
// refused and stays.
func RemovePlugin(ctx context.Context, h *pluginhost.Host, name string) (Removal, error) {
	name = strings.TrimPrefix(name, catalog.Prefix)
	if _, ok := catalog.PluginName(catalog.Prefix + name); !ok {
		return Removal{}, h.UnknownPlugin(name)
	}
	in := newInstaller(h)
	r, found, err := in.Remove(ctx, name)
	if err != nil || found {
		return r, err
	}
	c, found := h.FindPlugin(name)
	if !found {
		return Removal{}, h.UnknownPlugin(name)
	}
	f := failure.New(failure.PluginInvalid, "plugin '%s' is not in %s: it is %s (%s)", name, in.Dir(), c.Command(), c.Source)
	f.Cause = pluginhost.ErrNoPlugin
	if c.Source == catalog.FromBundle {
		return Removal{}, f.WithHint("it is bundled with this program; --no-bundled leaves out all bundled plugins")
	}
	return Removal{}, f.WithHint("only plugins that `agent-pipelines plugins install` put there can be removed; remove that file yourself, or leave its directory out")
}
