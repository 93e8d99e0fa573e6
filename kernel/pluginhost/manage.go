package pluginhost

import (
	"errors"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// ErrNoPlugin is in the chain of the error for a plugin that does not exist or that the user cannot change.
var ErrNoPlugin = errors.New("no such plugin")

// UnknownPlugin returns the error for a name that no plugin has. If a plugin of this name was ignored,
// the error gives the reason.
func (h *Host) UnknownPlugin(name string) error {
	name = strings.TrimPrefix(name, catalog.Prefix)
	hint := "`" + failure.Next("plugins", "list").String() + "` shows the plugins"
	f := failure.New(failure.PluginInvalid, "there is no plugin '%s'", name)
	f.Cause = ErrNoPlugin
	for _, i := range h.search.Ignored {
		if strings.HasSuffix(i.Path, "/"+catalog.Prefix+name) || strings.HasSuffix(i.Path, " plugin serve "+name) {
			f.Message += ": " + i.Path + " is " + i.Reason
			return f.WithHint("%s", hint)
		}
	}
	var names []string
	for _, c := range h.search.Plugins {
		names = append(names, c.Name)
	}
	if near := nearest.Name(name, names); near != "" {
		hint = "did you mean '" + near + "'? " + hint
	}
	return f.WithHint("%s", hint)
}

// Trust records in the user's configuration that the user trusts a directory: files below it may then name
// plugin directories and widen settings. It is refused if the configuration is inside the project, see
// [catalog.TrustFunc].
func (h *Host) Trust(dir string) error {
	if err := h.CheckConfigDir("nothing can be trusted"); err != nil {
		return err
	}
	return h.UserStore().Trust(dir)
}

// UserStore returns the store of the user's configuration directory.
func (h *Host) UserStore() catalog.Store { return catalog.Store{Dir: h.cfg.ConfigDir} }

// FindPlugin returns the plugin with a name from the results of the search.
func (h *Host) FindPlugin(name string) (p catalog.Plugin, found bool) {
	i := slices.IndexFunc(h.search.Plugins, func(p catalog.Plugin) bool { return p.Name == name })
	if i < 0 {
		return p, false
	}
	return h.search.Plugins[i], true
}

// CheckConfigDir refuses a change of a configuration directory inside the project, because the project could
// then trust itself. The action begins the message.
func (h *Host) CheckConfigDir(action string) error {
	if !catalog.ConfigInProject(h.cfg.ConfigDir, h.cfg.WorkDir, h.cfg.variable("HOME")) {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "%s from %s: your configuration directory %s is inside this project, so the project could trust itself",
		action, h.cfg.WorkDir, h.cfg.ConfigDir).
		WithHint("let XDG_CONFIG_HOME name a directory outside of the project, or unset it")
}
