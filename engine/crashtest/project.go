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

// project is what of a project every trial gets a copy of.
type project struct {
	root  string
	items []item
	// leftOut are names of what is not copied.
	leftOut []string
}

// item is a file, a directory or a link, by its name with slashes.
type item struct {
	name string
	mode fs.FileMode
	link string // where a link leads to
}

// The most that is copied for each trial.
const (
	maxBytes = 512 << 20
	maxFiles = 50_000
)

// seldomNeeded are directories that are large, or lead to effects elsewhere, and are copied only if asked for.
var seldomNeeded = []string{".git", "node_modules", ".venv"}

// never are those that belong to sessions.
var never = []string{"/.claude/pipeline-runs/", "/.claude/locks/"}

// listProject finds what is copied: all but sessions, what leaveOut names, and seldomNeeded unless with names it. A link
// that leads out of the project is not: who writes through it would write to the files of the user.
func listProject(root string, with, leaveOut []string) (project, error) {
	p := project{root: root}
	without := slices.Concat(never, leaveOut)
	for _, name := range seldomNeeded {
		if !slices.Contains(with, name) {
			without = append(without, name+"/", name) // a work tree of git has a file
		}
	}
	var bytes int64
	err := walk(root, func(_, name string, d fs.DirEntry) error {
		if matchesAny(without, name, d.IsDir()) {
			return p.leave(name, d)
		}
		size, err := p.add(name, d)
		bytes += size
		if err == nil && (bytes > maxBytes || len(p.items) > maxFiles) {
			return fmt.Errorf("the project has more than %d files or %d MiB, at %s: leave out what the pipeline does not need (--leave-out)", maxFiles, maxBytes>>20, name)
		}
		return err
	})
	return p, err
}

// walk calls f with all that lies below a directory: its path, and its name in the directory with slashes.
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

// matchesAny reports whether a name fits one of the patterns, which are those of [rule].
func matchesAny(patterns []string, name string, dir bool) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return rule{name: pattern}.fits(name, dir) })
}

func (p *project) leave(name string, d fs.DirEntry) error {
	if !matchesAny(never, name, d.IsDir()) {
		p.leftOut = append(p.leftOut, name)
	}
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// add takes one thing up, and says how large it is.
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
			p.leftOut = append(p.leftOut, name)
			return 0, nil
		}
	case it.mode.IsRegular():
		size = info.Size()
	case !it.mode.IsDir(): // a socket, a device
		p.leftOut = append(p.leftOut, name)
		return 0, nil
	}
	p.items = append(p.items, it)
	return size, nil
}

// copyTo makes a copy in a new directory, and says how each file of it is.
func (p *project) copyTo(dir string) (snapshot, error) {
	was := snapshot{}
	if err := os.MkdirAll(dir, 0o700); err != nil {
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
		was[it.name] = info
	}
	return was, nil
}

func (it item) copy(from, to string) error {
	switch {
	case it.mode.IsDir():
		return os.MkdirAll(to, it.mode.Perm()|0o700)
	case it.mode&fs.ModeSymlink != 0:
		return os.Symlink(it.link, to)
	}
	return copyFile(from, to, it.mode.Perm()|0o200)
}

func copyFile(from, to string, mode fs.FileMode) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err = w.ReadFrom(r); err != nil {
		_ = w.Close() // the copy is of no use
		return err
	}
	return w.Close()
}

// snapshot is how the files of a project are, by name.
type snapshot map[string]fs.FileInfo

// changed reports whether a file is not as it was.
func (s snapshot) changed(name string, now fs.FileInfo) bool {
	was, ok := s[name]
	return !ok || was.Size() != now.Size() || !was.ModTime().Equal(now.ModTime()) || was.Mode() != now.Mode()
}

// ofProject is what the names of files of the project begin with in an outcome.
const ofProject = "project: "

// maxCompared is the largest file of a project that is compared line by line, in bytes.
const maxCompared = 1 << 20

// changes are the files of a project that are not as they were, by their names; what ignore names is left out.
func (r reader) changes(root string, was snapshot, ignore []string) (map[string]any, error) {
	files, there := map[string]any{}, map[string]bool{}
	without := slices.Concat(never, []string{".git/"}, ignore)
	err := walk(root, func(file, name string, d fs.DirEntry) error {
		if matchesAny(without, name, d.IsDir()) {
			there[name] = true
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		there[name] = true
		info, err := d.Info()
		if err != nil || !was.changed(name, info) {
			return err
		}
		files[ofProject+r.plain(name)], err = r.content(file, name, info)
		return err
	})
	for name := range was {
		if !there[name] && !underAny(without, name) {
			files[ofProject+name] = "removed"
		}
	}
	return files, err
}

// underAny reports whether a name, or a directory above it, fits a pattern.
func underAny(patterns []string, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if matchesAny(patterns, dir, true) {
			return true
		}
	}
	return matchesAny(patterns, name, false)
}

// content is what is compared of a file of the project.
func (r reader) content(file, name string, info fs.FileInfo) (any, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(file)
		return "link to " + r.plain(link), err
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
		return fmt.Sprintf("%d bytes with the digest %s", len(b), digestOf(b)), nil
	}
	return r.plain(string(b)), nil
}
