package pluginhost

import (
	"context"
	"errors"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// ErrNoPlugin is in the chain of what is answered about a plugin that does not exist, or that is not the
// user's to change.
var ErrNoPlugin = errors.New("no such plugin")

// InstallRequest says what to install.
type InstallRequest = catalog.InstallRequest

// Removed is what was removed.
type Removed = catalog.Removal

// Installed is what was installed.
type Installed struct {
	catalog.InstallReport
	// Shadows is what the plugin is used in place of, ShadowedBy what is used in place of it; "" for nothing.
	Shadows    string `json:"shadows,omitempty"`
	ShadowedBy string `json:"shadowed_by,omitempty"`
}

// ErrInstalled is in the chain of the refusal to replace a plugin without force.
var ErrInstalled = catalog.ErrInstalled

func (h *Host) installer() catalog.Installer {
	return catalog.Installer{Store: h.trustStore(), Describe: h.describe}
}

// Install puts a plugin into the user's plugin directory and locks it, see [catalog.Installer.Install]. It is
// found by hosts that are made from now on.
func (h *Host) Install(ctx context.Context, req InstallRequest) (Installed, error) {
	if err := h.checkConfigDir("nothing can be installed"); err != nil {
		return Installed{}, err
	}
	r, err := h.installer().Install(ctx, req)
	if err != nil {
		return Installed{}, err
	}
	done := Installed{InstallReport: r}
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

// Remove takes a plugin out of the user's plugin directory and out of plugins.lock. One that lies elsewhere is
// refused, and left where it is.
func (h *Host) Remove(ctx context.Context, name string) (Removed, error) {
	name = strings.TrimPrefix(name, catalog.Prefix)
	if _, ok := catalog.PluginName(catalog.Prefix + name); !ok {
		return Removed{}, h.unknownPluginError(name)
	}
	r, found, err := h.installer().Remove(ctx, name)
	if err != nil || found {
		return r, err
	}
	i := h.pluginIndex(name)
	if i < 0 {
		return Removed{}, h.unknownPluginError(name)
	}
	c := h.search.Plugins[i]
	f := failure.New(failure.PluginInvalid, "plugin '%s' is not in %s: it is %s (%s)", name, h.installer().Dir(), c.Command(), c.Source)
	f.Cause = ErrNoPlugin
	if c.Source == catalog.FromBundle {
		return Removed{}, f.WithHint("this program carries it; --no-bundled leaves all of those out")
	}
	return Removed{}, f.WithHint("only what `agent-pipelines plugins install` puts there is removed; remove that file yourself, or leave its directory out")
}

// unknownPluginError is the error for a name that no plugin has. If one of this name was passed over, it says why.
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
