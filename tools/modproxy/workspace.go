package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

// workspace holds the modules of a go.work file.
type workspace struct {
	root    string
	modules []member
}

// member is a module of the workspace.
type member struct {
	path  string // import path
	dir   string // relative to the root, with slashes
	goMod []byte
	needs []string // paths of all required modules
}

// load reads go.work in root and the go.mod of each module it uses.
func load(root string) (workspace, error) {
	file := filepath.Join(root, "go.work")
	text, err := os.ReadFile(file)
	if err != nil {
		return workspace{}, fmt.Errorf("read the workspace: %w", err)
	}
	work, err := modfile.ParseWork(file, text, nil)
	if err != nil {
		return workspace{}, err
	}
	w := workspace{root: root}
	for _, use := range work.Use {
		m, err := loadMember(root, path.Clean(use.Path))
		if err != nil {
			return workspace{}, err
		}
		w.modules = append(w.modules, m)
	}
	return w, nil
}

func loadMember(root, dir string) (member, error) {
	file := filepath.Join(root, dir, "go.mod")
	text, err := os.ReadFile(file)
	if err != nil {
		return member{}, fmt.Errorf("read a module: %w", err)
	}
	parsed, err := modfile.ParseLax(file, text, nil)
	if err != nil {
		return member{}, err
	}
	if parsed.Module == nil {
		return member{}, fmt.Errorf("%s names no module", file)
	}
	m := member{path: parsed.Module.Mod.Path, dir: dir, goMod: text}
	for _, r := range parsed.Require {
		m.needs = append(m.needs, r.Mod.Path)
	}
	return m, nil
}

// member returns the module with a path.
func (w workspace) member(modulePath string) (member, bool) {
	i := slices.IndexFunc(w.modules, func(m member) bool { return m.path == modulePath })
	if i < 0 {
		return member{}, false
	}
	return w.modules[i], true
}

// dependencies returns the module in dir and all modules of the workspace that it requires, directly or
// indirectly.
func (w workspace) dependencies(dir string) ([]member, error) {
	i := slices.IndexFunc(w.modules, func(m member) bool { return m.dir == dir })
	if i < 0 {
		return nil, fmt.Errorf("the workspace has no module in %q", dir)
	}
	needed := []member{w.modules[i]}
	for next := 0; next < len(needed); next++ {
		for _, modulePath := range needed[next].needs {
			m, ours := w.member(modulePath)
			if ours && !slices.ContainsFunc(needed, func(n member) bool { return n.path == m.path }) {
				needed = append(needed, m)
			}
		}
	}
	return needed, nil
}

// releasedGoMod returns the go.mod of a release: the other modules of the workspace required at the
// version, and no replace directive, which `go install module@version` refuses. Any other
// replacement is an error, because users would get other code than was tested.
func (w workspace) releasedGoMod(m member, version string) ([]byte, error) {
	f, err := modfile.Parse(m.dir+"/go.mod", m.goMod, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Clone(f.Replace) {
		if _, ours := w.member(r.Old.Path); !ours {
			return nil, fmt.Errorf("go.mod replaces %s by %s, which a release cannot; remove the replacement", r.Old.Path, r.New.Path)
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
