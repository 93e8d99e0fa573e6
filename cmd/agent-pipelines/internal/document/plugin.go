package document

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Plugins lists all plugins, the ignored files, the name conflicts and the searched directories.
type Plugins struct {
	Plugins   []Plugin               `json:"plugins"`
	Ignored   []pluginhost.Ignored   `json:"ignored"`
	Conflicts []pluginhost.Conflict  `json:"conflicts"`
	Searched  []pluginhost.SearchDir `json:"searched"`
}

// Plugin is a plugin as it is shown.
type Plugin struct {
	Name       string          `json:"name"`
	Version    string          `json:"version,omitempty"`
	Path       string          `json:"path,omitempty"` // "" for a built-in plugin
	Source     string          `json:"source"`
	SHA256     string          `json:"sha256,omitempty"`
	Locked     string          `json:"locked,omitempty"` // yes, no or mismatch; "" for a plugin without a file
	Lock       string          `json:"lock,omitempty"`   // the lock file with its digest
	Expected   string          `json:"locked_sha256,omitempty"`
	Protocols  []int           `json:"protocols,omitempty"` // major versions of the protocol
	SDK        string          `json:"sdk,omitempty"`
	MTLS       bool            `json:"mtls"`
	Components []sdk.Component `json:"components"`
	Fault      *Fault          `json:"error,omitempty"`
}

// Offers reports whether one of the plugin's components has the name or alias.
func (p Plugin) Offers(name string) bool {
	return slices.ContainsFunc(p.Components, func(c sdk.Component) bool {
		return c.Name == name || slices.Contains(c.Aliases, name)
	})
}

// Location returns the plugin's path. It marks bundled plugins, which share one file.
func (p Plugin) Location() string {
	if p.Source == string(pluginhost.FromBundle) {
		return p.Path + " (" + p.Source + ")"
	}
	return p.Path
}

// LockState returns the plugin's lock status in one or two words; "" for an unlocked bundled plugin.
func (p Plugin) LockState() string {
	switch {
	case p.Locked == "mismatch":
		return "not as locked"
	case p.Locked == "yes":
		return "locked"
	case p.Locked == "no" && p.Source != string(pluginhost.FromBundle):
		return "not locked"
	default:
		return ""
	}
}

// NewPlugin describes the written module of a new plugin.
type NewPlugin struct {
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	Dir   string   `json:"dir"`
	SDK   string   `json:"sdk,omitempty"` // version or directory; "" if the author must add it
	Files []string `json:"files"`         // below Dir
}
