package pluginhost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// LockRequest selects the plugins to lock.
type LockRequest struct {
	// Names are the plugins' names. Without names, every plugin that is a file is selected. A bundled plugin is only
	// locked by name, because its digest changes with each version of the program.
	Names []string
	// Project selects the project's lock, which only adds to the user's lock.
	Project bool
	// Check compares and writes nothing.
	Check bool
}

// LockReport is the result of a [LockRequest] for this platform.
type LockReport struct {
	// Lock is the path of the lock file, Platform the name of this system in it ("linux/amd64").
	Lock     string      `json:"lock"`
	Platform string      `json:"platform"`
	Plugins  []LockEntry `json:"plugins"`
	// Missing are entries for this platform whose plugin was not found; empty if names were given.
	Missing []string `json:"missing"`
}

// LockEntry is one plugin in a lock.
type LockEntry struct {
	// Name is the name in the lock: agent-plugin-<name>.
	Name string `json:"name"`
	// Path is the plugin's file; for a bundled plugin the command line.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Before is the previous digest in the lock, "" for none.
	Before string `json:"before,omitempty"`
}

// Changed reports whether the lock had another digest of the plugin, or none.
func (e LockEntry) Changed() bool { return e.SHA256 != e.Before }

// Lock writes the current digests of plugins into the user's plugins.lock or the project's. Entries of other
// plugins and platforms stay. With Check it writes nothing; plugins that differ are a failure of kind
// plugin_untrusted that names each. Plugins without an entry differ only if they were named.
func (h *Host) Lock(req LockRequest) (LockReport, error) {
	r := LockReport{Lock: h.UserStore().LockPath(), Platform: catalog.Platform(), Plugins: []LockEntry{}, Missing: []string{}}
	if req.Project {
		r.Lock = h.cfg.ProjectLock
	} else if err := h.CheckConfigDir("nothing can be locked"); err != nil {
		return r, err
	}
	candidates, err := h.selectPlugins(req.Names)
	if err != nil {
		return r, err
	}
	lock, err := catalog.ReadLock(r.Lock)
	if err != nil {
		return r, err
	}
	for _, c := range candidates {
		e := LockEntry{Name: catalog.Prefix + c.Name, Path: c.Command()}
		if e.SHA256, err = h.pluginDigest(c); err != nil {
			return r, err
		}
		e.Before, _ = lock.Digest(e.Name, r.Platform)
		r.Plugins = append(r.Plugins, e)
	}
	if len(req.Names) == 0 {
		r.Missing = h.missingPlugins(lock)
	}
	if req.Check {
		return r, r.mismatchError(len(req.Names) > 0)
	}
	return r, h.writeLock(r)
}

// selectPlugins returns the plugins with these names, or all plugins that are files.
func (h *Host) selectPlugins(names []string) ([]catalog.Plugin, error) {
	var chosen []catalog.Plugin
	if len(names) == 0 {
		for _, c := range h.search.Plugins {
			if c.Source != catalog.FromBundle {
				chosen = append(chosen, c)
			}
		}
		return chosen, nil
	}
	for _, name := range names {
		c, found := h.FindPlugin(strings.TrimPrefix(name, catalog.Prefix))
		if !found {
			return nil, h.UnknownPlugin(name)
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

func (h *Host) pluginDigest(c catalog.Plugin) (string, error) {
	b, err := c.Read(h.verifier.Uncached())
	if err != nil {
		return "", err
	}
	defer b.Close()
	return b.SHA256, nil
}

// missingPlugins returns the entries for this platform without a plugin, sorted.
func (h *Host) missingPlugins(lock catalog.Lock) []string {
	names := []string{}
	for file := range lock.Plugins {
		_, locked := lock.Digest(file, catalog.Platform())
		if _, found := h.FindPlugin(strings.TrimPrefix(file, catalog.Prefix)); locked && !found {
			names = append(names, file)
		}
	}
	slices.Sort(names)
	return names
}

// mismatchError returns the error of a check, nil if nothing differs.
func (r LockReport) mismatchError(named bool) error {
	var faults []string
	for _, e := range r.Plugins {
		switch {
		case !e.Changed():
		case e.Before != "":
			faults = append(faults, fmt.Sprintf("%s: %s has sha256 %s, locked is %s", e.Name, e.Path, e.SHA256, e.Before))
		case named:
			faults = append(faults, fmt.Sprintf("%s: nothing is locked for %s, its sha256 is %s", e.Name, r.Platform, e.SHA256))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return failure.New(failure.PluginUntrusted, "%s does not match the installed plugins: %s", r.Lock, strings.Join(faults, "; ")).
		WithHint("if you replaced them yourself, lock them again by the same command without %s; if not, install them again from their source", failure.Option("check"))
}

func (h *Host) writeLock(r LockReport) error {
	if !slices.ContainsFunc(r.Plugins, LockEntry.Changed) {
		return nil
	}
	return h.UserStore().ChangeLock(r.Lock, func(l catalog.Lock) {
		for _, e := range r.Plugins {
			l.Set(e.Name, r.Platform, e.SHA256)
		}
	})
}
