package pluginhost

import (
	"context"
	"errors"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// ErrNoPlugin is in the chain of the error for a plugin that does not exist or that the user cannot change.
var ErrNoPlugin = errors.New("no such plugin")

// InstallRequest selects the plugin to install.
type InstallRequest = catalog.InstallRequest

// Removal describes a removed plugin.
type Removal = catalog.Removal

// Installation describes an installed plugin.
type Installation struct {
	catalog.InstallReport
	// Shadows is the plugin that the new one replaces in use, ShadowedBy the one used instead of it; "" for
	// none.
	Shadows    string `json:"shadows,omitempty"`
	ShadowedBy string `json:"shadowed_by,omitempty"`
}

// ErrInstalled is in the chain of the refusal to replace a plugin without force.
var ErrInstalled = catalog.ErrInstalled

func (h *Host) installer() catalog.Installer {
	return catalog.Installer{Store: h.trustStore(), Describe: h.describe}
}

// Install puts a plugin into the user's plugin directory and locks it, see [catalog.Installer.Install]. Hosts
// created later find it.
func (h *Host) Install(ctx context.Context, req InstallRequest) (Installation, error) {
	if err := h.checkConfigDir("nothing can be installed"); err != nil {
		return Installation{}, err
	}
	r, err := h.installer().Install(ctx, req)
	if err != nil {
		return Installation{}, err
	}
	done := Installation{InstallReport: r}
	if i := h.pluginIndex(r.Name); i >= 0 {
		switch c := h.search.Plugins[i]; c.Source {
		case catalog.FromFlag, catalog.FromEnvironment:
			done.ShadowedBy = c.Path
		case catalog.FromExecutable, catalog.FromBundle:
			done.Shadows = c.Command()
		}
	}
	return done, nil
}

// Remove deletes a plugin from the user's plugin directory and from plugins.lock. A plugin elsewhere is
// refused and stays.
func (h *Host) Remove(ctx context.Context, name string) (Removal, error) {
	name = strings.TrimPrefix(name, catalog.Prefix)
	if _, ok := catalog.PluginName(catalog.Prefix + name); !ok {
		return Removal{}, h.unknownPluginError(name)
	}
	r, found, err := h.installer().Remove(ctx, name)
	if err != nil || found {
		return r, err
	}
	i := h.pluginIndex(name)
	if i < 0 {
		return Removal{}, h.unknownPluginError(name)
	}
	c := h.search.Plugins[i]
	f := failure.New(failure.PluginInvalid, "plugin '%s' is not in %s: it is %s (%s)", name, h.installer().Dir(), c.Command(), c.Source)
	f.Cause = ErrNoPlugin
	if c.Source == catalog.FromBundle {
		return Removal{}, f.WithHint("this program carries it; --no-bundled leaves all of those out")
	}
	return Removal{}, f.WithHint("only what `agent-pipelines plugins install` puts there is removed; remove that file yourself, or leave its directory out")
}

// unknownPluginError returns the error for a name that no plugin has. If a file of this name was ignored, it
// gives the reason.
func (h *Host) unknownPluginError(name string) error {
	name = strings.TrimPrefix(name, catalog.Prefix)
	hint := "`agent-pipelines plugins list` shows what there is"
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
	if err := h.checkConfigDir("nothing can be trusted"); err != nil {
		return err
	}
	return h.trustStore().Trust(dir)
}

// Distrust removes the trust in a directory and reports whether there was any. A trusted parent directory
// still covers it.
func (h *Host) Distrust(dir string) (was bool, err error) { return h.trustStore().Distrust(dir) }

// Trusted lists the directories that the user trusts, sorted.
func (h *Host) Trusted() ([]string, error) { return h.trustStore().Trusted() }

func (h *Host) trustStore() catalog.Store { return catalog.Store{Dir: h.cfg.ConfigDir} }

// checkConfigDir refuses a change of a configuration directory inside the project, because the project could
// then trust itself. The text completes the message.
func (h *Host) checkConfigDir(action string) error {
	if !catalog.ConfigInProject(h.cfg.ConfigDir, h.cfg.WorkDir, lookupEnv(h.cfg.Environ, "HOME")) {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "%s from %s: your configuration directory %s lies inside this project, which could trust itself",
		action, h.cfg.WorkDir, h.cfg.ConfigDir).
		WithHint("let XDG_CONFIG_HOME name a directory outside of the project, or unset it")
}
