package catalog

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Removal describes a removed plugin.
type Removal struct {
	Name string `json:"name"`
	// Path is the deleted file, "" if only the lock had the plugin.
	Path string `json:"path,omitempty"`
	// Unlocked: the plugin had an entry for this platform in plugins.lock. Entries of other platforms stay.
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
	file := Prefix + name
	if _, r.Unlocked = lock.Digest(file, Platform()); r.Unlocked {
		err = in.Store.ChangeLock(in.Store.LockPath(), func(l Lock) { l.Set(file, Platform(), "") })
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
		return "", failure.New(failure.PluginInvalid, "%s is a directory, and no plugin", path).WithHint("remove it yourself")
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return "", failure.New(failure.PluginInvalid, "remove %s: %w", path, err).WithHint("make sure that you can write into %s", in.Dir())
	}
	return path, nil
}
