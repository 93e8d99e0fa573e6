package crashtest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// project is the part of a project that each trial copies.
type project struct {
	root  string
	items []item
	// excluded lists the names that are not copied.
	excluded []string
}

// item is a file, directory or link; its name has slashes.
type item struct {
	name string
	mode fs.FileMode
	link string // target of a link
}

// Limits of a copy.
const (
	maxBytes = 512 << 20
	maxFiles = 50_000
)

// optionalDirs lists directories that are large or have external effects, copied only on request.
var optionalDirs = []string{".git", "node_modules", ".venv"}

// sessionDirs lists the directories of sessions.
var sessionDirs = []string{"/.claude/pipeline-runs/", "/.claude/locks/"}

// listProject lists the files to copy: all except sessions, the names in leaveOut, and optionalDirs not in
// with. Links out of the project are excluded, because writing through one would change the user's files.
func listProject(root string, with, leaveOut []string) (project, error) {
	p := project{root: root}
	patterns := slices.Concat(sessionDirs, leaveOut)
	for _, name := range optionalDirs {
		if !slices.Contains(with, name) {
			patterns = append(patterns, name+"/", name) // a file in a git work tree
		}
	}
	var bytes int64
	err := walk(root, func(_, name string, d fs.DirEntry) error {
		if matchesAny(patterns, name, d.IsDir()) {
			return p.exclude(name, d)
		}
		size, err := p.add(name, d)
		bytes += size
		if err == nil && (bytes > maxBytes || len(p.items) > maxFiles) {
			return fmt.Errorf("the project has more than %d files or %d MiB, at %s: exclude unneeded files with --leave-out", maxFiles, maxBytes>>20, name)
		}
		return err
	})
	return p, err
}

// walk calls f with everything below a directory: its path, and its slash-separated name.
func walk(root string, f func(file, name string, d fs.DirEntry) error) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return f(file, filepath.ToSlash(name), d)
	})
}

// matchesAny reports whether a name matches one of the patterns, see [rule].
func matchesAny(patterns []string, name string, dir bool) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return rule{name: pattern}.matches(name, dir) })
}

func (p *project) exclude(name string, d fs.DirEntry) error {
	if !matchesAny(sessionDirs, name, d.IsDir()) {
		p.excluded = append(p.excluded, name)
	}
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// add adds a file and returns its size.
func (p *project) add(name string, d fs.DirEntry) (size int64, err error) {
	info, err := d.Info()
	if err != nil {
		return 0, err
	}
	it := item{name: name, mode: info.Mode()}
	switch {
	case it.mode&fs.ModeSymlink != 0:
		if it.link, err = os.Readlink(filepath.Join(p.root, name)); err != nil {
			return 0, err
		}
		if path.IsAbs(it.link) || !filepath.IsLocal(path.Join(path.Dir(name), it.link)) {
			p.excluded = append(p.excluded, name)
			return 0, nil
		}
	case it.mode.IsRegular():
		size = info.Size()
	case !it.mode.IsDir(): // such as a socket or device
		p.excluded = append(p.excluded, name)
		return 0, nil
	}
	p.items = append(p.items, it)
	return size, nil
}

// copyTo copies the project into a new directory and returns a snapshot of its files.
func (p *project) copyTo(dir string) (snapshot, error) {
	files := snapshot{}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for _, it := range p.items {
		to := filepath.Join(dir, it.name)
		if err := it.copy(filepath.Join(p.root, it.name), to); err != nil {
			return nil, fmt.Errorf("copy %s: %w", it.name, err)
		}
		if it.mode.IsDir() {
			continue
		}
		info, err := os.Lstat(to)
		if err != nil {
			return nil, err
		}
		files[it.name] = info
	}
	return files, nil
}

func (it item) copy(from, to string) error {
	switch {
	case it.mode.IsDir():
		return os.MkdirAll(to, it.mode.Perm()|0o700)
	case it.mode&fs.ModeSymlink != 0:
		return os.Symlink(it.link, to)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, it.mode.Perm()|0o200)
}

// snapshot holds the file infos of a project, by name.
type snapshot map[string]fs.FileInfo

// changed reports whether a file differs from the snapshot.
func (s snapshot) changed(name string, now fs.FileInfo) bool {
	before, ok := s[name]
	return !ok || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) || before.Mode() != now.Mode()
}

// projectPrefix begins the names of project files in an outcome.
const projectPrefix = "project: "

// maxCompared is the size limit of project files compared line by line, in bytes.
const maxCompared = 1 << 20

// changes returns the changed files of a project by name, without the files that ignore matches.
func (r reader) changes(root string, before snapshot, ignore []string) (map[string]any, error) {
	files := map[string]any{}
	patterns := slices.Concat(sessionDirs, []string{".git/"}, ignore)
	err := walk(root, func(file, name string, d fs.DirEntry) error {
		switch ignored := matchesAny(patterns, name, d.IsDir()); {
		case ignored && d.IsDir():
			return fs.SkipDir
		case ignored || d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil || !before.changed(name, info) {
			return err
		}
		files[projectPrefix+r.replace(name)], err = r.content(file, name, info)
		return err
	})
	for name := range before {
		if info, err := os.Lstat(filepath.Join(root, name)); (err != nil || info.IsDir()) && !underAny(patterns, name) {
			files[projectPrefix+name] = "removed"
		}
	}
	return files, err
}

// underAny reports whether a name or one of its parent directories matches a pattern.
func underAny(patterns []string, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if matchesAny(patterns, dir, true) {
			return true
		}
	}
	return matchesAny(patterns, name, false)
}

// content returns the content of a project file for comparison.
func (r reader) content(file, name string, info fs.FileInfo) (any, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(file)
		return "link to " + r.replace(link), err
	}
	if !info.Mode().IsRegular() {
		return info.Mode().Type().String(), nil
	}
	b, err := os.ReadFile(file)
	switch {
	case err != nil:
		return nil, err
	case name == ".claude/loop-completions.json":
		return r.value(rule{form: asJSON, drop: []string{"*.completed_at"}}, b), nil
	case len(b) > maxCompared || strings.ContainsRune(string(b), 0):
		return fmt.Sprintf("%d bytes with the digest %s", len(b), sha256Hex(b)), nil
	}
	return r.replace(string(b)), nil
}
