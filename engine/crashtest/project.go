package crashtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// project is a project whose copy each trial copies again.
type project struct {
	root                   string
	with, leaveOut, ignore []string // as in [Trials]

	dir      string            // of the copy
	files    map[string]string // digests by name of the files that are compared
	excluded []string          // names that were not copied
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

// copyTo copies the project into a new directory: all except sessions, the names in leaveOut, and optionalDirs not in
// with.
func (p *project) copyTo(dir string) error {
	scratch, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	from := &selection{ReadLinkFS: os.DirFS(p.root).(fs.ReadLinkFS), scratch: scratch, leaveOut: slices.Clone(p.leaveOut)}
	for _, name := range optionalDirs {
		if !slices.Contains(p.with, name) {
			from.leaveOut = append(from.leaveOut, name+"/", name) // .git is a file in a git work tree
		}
	}
	if err := os.CopyFS(dir, from); err != nil {
		return fmt.Errorf("copy %s: %w", p.root, err)
	}
	p.dir, p.excluded = dir, from.excluded
	p.files, err = p.digests(dir)
	return err
}

// selection is the part of a project that is copied.
type selection struct {
	fs.ReadLinkFS
	scratch  fs.FileInfo // the directory of all copies, which may be in the project
	leaveOut []string    // patterns, see [rule]
	excluded []string
	files    int
	bytes    int64
}

// ReadDir implements [fs.ReadDirFS].
func (s *selection) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.ReadLinkFS, dir)
	if err != nil {
		return nil, err
	}
	var selected []fs.DirEntry
	for _, d := range entries {
		name := path.Join(dir, d.Name())
		info, err := d.Info()
		switch {
		case err != nil:
			return nil, err
		case matchesAny(sessionDirs, name, d.IsDir()) || os.SameFile(info, s.scratch):
		case s.includes(name, info):
			selected = append(selected, d)
			s.files++
			if info.Mode().IsRegular() {
				s.bytes += info.Size()
			}
		default:
			s.excluded = append(s.excluded, name)
		}
		if s.bytes > maxBytes || s.files > maxFiles {
			return nil, failure.New(failure.Internal, "the files to copy exceed the limit of %d files or %d MiB, counted up to %s", maxFiles, maxBytes>>20, name).
				WithHint("exclude unneeded files with %s", failure.Option("leave_out"))
		}
	}
	return selected, nil
}

// includes reports whether a file or directory is copied. Links that lead out of the project are not copied, because
// writing through such a link would change the user's files.
func (s *selection) includes(name string, info fs.FileInfo) bool {
	switch mode := info.Mode(); {
	case matchesAny(s.leaveOut, name, mode.IsDir()):
		return false
	case mode&fs.ModeSymlink != 0:
		link, err := s.ReadLink(name)
		return err == nil && !path.IsAbs(link) && filepath.IsLocal(path.Join(path.Dir(name), link))
	default: // no sockets and devices
		return mode.IsRegular() || mode.IsDir()
	}
}

// matchesAny reports whether a name matches one of the patterns, see [rule].
func matchesAny(patterns []string, name string, dir bool) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return rule{name: pattern}.matches(name, dir) })
}

// digests returns the digests, by name, of the files that are compared in the copy at root.
func (p *project) digests(root string) (map[string]string, error) {
	all := map[string]string{}
	patterns := slices.Concat(sessionDirs, []string{".git/"}, p.ignore)
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && matchesAny(patterns, name, true):
			return fs.SkipDir
		case d.IsDir() || matchesAny(patterns, name, false):
			return nil
		}
		all[name], err = digest(filepath.Join(root, name))
		return err
	})
	return all, err
}

// digest identifies a file: its mode, and the digest of its content or the target of the link.
func digest(file string) (string, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	content := ""
	switch info.Mode().Type() {
	case 0:
		var b []byte
		b, err = os.ReadFile(file)
		content = sha256Hex(b)
	case fs.ModeSymlink:
		content, err = os.Readlink(file)
	}
	return info.Mode().String() + " " + content, err
}

// projectPrefix begins the names of project files in an outcome.
const projectPrefix = "project: "

// maxCompared is the size limit of project files compared line by line, in bytes.
const maxCompared = 1 << 20

// changes returns the values of the project files whose digests differ, by name.
func (r reader) changes(root string, before, now map[string]string) (map[string]any, error) {
	files := map[string]any{}
	for _, name := range unionKeys(before, now) {
		if before[name] == now[name] {
			continue
		}
		value, err := r.content(root, name, now[name])
		if err != nil {
			return nil, err
		}
		files[projectPrefix+r.replace(name)] = value
	}
	return files, nil
}

// content returns the value of a changed project file for comparison: the text of a text file, the digest of any
// other file.
func (r reader) content(root, name, digest string) (any, error) {
	switch {
	case digest == "":
		return "removed", nil
	case !strings.HasPrefix(digest, "-"): // not a regular file, such as a link
		return r.replace(digest), nil
	}
	b, err := os.ReadFile(filepath.Join(root, name))
	switch {
	case err != nil:
		return nil, err
	case name == ".claude/loop-completions.json":
		return r.value(rule{form: asJSON, drop: []string{"*.completed_at"}}, b), nil
	case len(b) > maxCompared || bytes.ContainsRune(b, 0):
		return digest, nil
	}
	return r.replace(string(b)), nil
}
