package pluginhost

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Listing is the content of `plugins list`.
type Listing struct {
	// Registered are the components of this process, in the order of their registration.
	Registered []sdk.Component `json:"registered"`
	// Plugins are the plugins in the order of the search, including broken ones.
	Plugins []catalog.DescribedPlugin `json:"plugins"`
	// Conflicts are components hidden by others of the same name.
	Conflicts []Conflict `json:"conflicts"`
	// Ignored are the files, directories and bundled plugins that the search does not use, with reasons.
	Ignored []Ignored `json:"ignored"`
	// Searched are the directories, in order.
	Searched []SearchDir `json:"searched"`
}

// Conflict is a component of a listing that another component of the same name hides.
type Conflict = catalog.Conflict

// Ignored is a file, directory or bundled plugin that the search does not use, with the reason.
type Ignored = catalog.Ignored

// SearchDir is a searched directory of a listing.
type SearchDir = catalog.SearchDir

// Plugins describes every plugin found, in the order of the search, including broken ones. The error is the cause of ctx.
func (h *Host) Plugins(ctx context.Context) ([]catalog.DescribedPlugin, error) {
	return h.catalog.Plugins(ctx)
}

// List describes all components; plugins without a cached description are started for it. The error is the cause of
// ctx, or the error of a process that should already run. A broken plugin is an entry of the list.
func (h *Host) List(ctx context.Context) (Listing, error) {
	plugins, err := h.catalog.Plugins(ctx)
	if err != nil {
		return Listing{}, err
	}
	entries, conflicts, err := h.catalog.Entries(ctx)
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Plugins: plugins, Conflicts: conflicts, Ignored: h.search.Ignored, Searched: h.search.Searched}
	for _, e := range entries {
		if e.Target != nil {
			l.Registered = append(l.Registered, e.Component)
		}
	}
	return l, nil
}
