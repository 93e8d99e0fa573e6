package pluginhost

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Listing is everything that `plugins list` can say.
type Listing struct {
	// Registered are the components inside this process, in the order of their registration.
	Registered []sdk.Component `json:"registered"`
	// Plugins are the discovered binaries in the order of the search, broken ones included.
	Plugins []catalog.DescribedPlugin `json:"plugins"`
	// Conflicts are components that others of the same name hide.
	Conflicts []Conflict `json:"conflicts"`
	// Ignored are the files and directories that were passed over, with the reasons.
	Ignored []Ignored `json:"ignored"`
	// Searched are the directories, in order.
	Searched []SearchDir `json:"searched"`
}

// Conflict is a component of a listing that another of its name hides.
type Conflict = catalog.Conflict

// Ignored is a file or directory of a listing that was passed over, and why.
type Ignored = catalog.Ignored

// Place is a directory of a listing that was searched.
type SearchDir = catalog.SearchDir

// List describes what there is; plugins that are not remembered are started for it. The error is
// ctx's alone, or that of a process which should run already: a broken plugin is a line of the list.
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
