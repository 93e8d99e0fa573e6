package main

import (
	"fmt"
	"slices"

	"golang.org/x/mod/modfile"
)

// released is the module's go.mod as a release has it: the other modules of the workspace required at the
// version, and no replace directive, since `go install module@version` refuses one. A replacement of
// anything else is an error: what the module was tested with would not be what others get.
func (w workspace) released(m member, version string) ([]byte, error) {
	f, err := modfile.Parse(m.dir+"/go.mod", m.goMod, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Clone(f.Replace) {
		if _, ours := w.member(r.Old.Path); !ours {
			return nil, fmt.Errorf("it replaces %s by %s; a release cannot", r.Old.Path, r.New.Path)
		}
		if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, err
		}
	}
	for _, r := range f.Require {
		if _, ours := w.member(r.Mod.Path); !ours {
			continue
		}
		if err := f.AddRequire(r.Mod.Path, version); err != nil {
			return nil, err
		}
	}
	f.Cleanup()
	return f.Format()
}
