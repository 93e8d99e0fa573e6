package contextstrategy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of the files that are read, for any budget.
const (
	maxFile  = 1 << 20 // bytes of a file
	maxFiles = 50      // files
	maxTree  = 500     // lines of the list of files
)

// addFiles adds files as sections whose names begin with prefix.
func (b *builder) addFiles(prefix string, files []string) {
	for _, file := range files {
		if section, ok := b.readFile(file); ok {
			section.Name = prefix + section.Name
			b.sections = append(b.sections, section)
		}
	}
}

// readFile returns a file as a section. ok is false for missing and unreadable files, because an agent may have named
// any path.
func (s Source) readFile(file string) (section Section, ok bool) {
	f, err := s.openFile(file)
	if err != nil {
		return section, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return section, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	section = Section{Kind: File, Name: s.projectPath(file)}
	switch {
	case !isText(data):
		section.Text = fmt.Sprintf("(%d bytes, no text)", info.Size())
	case int64(len(data)) < info.Size():
		section.Text, section.Size = s.Redactor.Text(strings.ToValidUTF8(string(data), "")), info.Size()
	default:
		section.Text = s.Redactor.Text(string(data))
	}
	return section, err == nil
}

// isText reports whether data is text; its last character may be incomplete.
func isText(data []byte) bool {
	end := len(data)
	for end > 0 && end > len(data)-utf8.UTFMax && !utf8.RuneStart(data[end-1]) {
		end--
	}
	return utf8.Valid(data[:max(0, end-1)]) && !slices.Contains(data, 0)
}

// openFile opens a file of the project, or an input file of the run by its absolute path.
func (s Source) openFile(file string) (*os.File, error) {
	name := s.projectPath(file)
	if !filepath.IsAbs(name) {
		return s.Project.OpenRegular(name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrInvalid, f.Close())
	}
	return f, nil
}

// projectPath returns a path relative to the project; a path outside stays absolute.
func (s Source) projectPath(file string) string {
	if !filepath.IsAbs(file) {
		return path.Clean(filepath.ToSlash(file))
	}
	if name, err := filepath.Rel(s.Project.Path(), file); err == nil && filepath.IsLocal(name) {
		return filepath.ToSlash(name)
	}
	return file
}

// namedFiles adds the project files that the step names, else the files that the node's input artifact names.
func (b *builder) namedFiles() {
	item := b.stepItem()
	if item == nil {
		item, _ = b.inputData()
	}
	b.addFiles("file ", b.filePaths(item))
}

// filePaths returns the strings in a value that name project files, each once, in the order of the value's keys.
func (s Source) filePaths(value any) []string {
	var names []string
	walk(value, func(v any) {
		text, _ := v.(string)
		if len(names) < maxFiles && s.isFile(text) && !slices.Contains(names, s.projectPath(text)) {
			names = append(names, s.projectPath(text))
		}
	})
	return names
}

// isFile reports whether a text is the path of a project file that is not git's or the engine's.
func (s Source) isFile(text string) bool {
	if text == "" || len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
		return false
	}
	name := s.projectPath(text)
	if !filepath.IsLocal(name) || isInternalPath(name) {
		return false
	}
	info, err := s.Project.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// isInternalPath reports whether a path of the project is git's or the engine's.
func isInternalPath(name string) bool {
	internal := []string{store.RunsDir, store.LocksDir, store.CompletionsFile, store.CompletionsLock}
	return slices.ContainsFunc(internal, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }) ||
		slices.Contains(strings.Split(name, "/"), ".git")
}

// tree adds a list of the project's files. If there are too many, the list has only those nearest to the root.
func (b *builder) tree() {
	var found []string
	more := false
	for queue := []string{"."}; len(queue) > 0 && !more; queue = queue[1:] {
		entries, err := b.Project.Entries(queue[0])
		if err != nil {
			continue // an unreadable directory
		}
		for _, e := range entries {
			name := path.Join(queue[0], e.Name())
			if isInternalPath(name) {
				continue
			}
			if more = len(found) == maxTree; more {
				break
			}
			if e.IsDir() {
				queue = append(queue, name)
				name += "/"
			}
			found = append(found, name)
		}
	}
	slices.Sort(found)
	if more {
		found = append(found, "(and more)")
	}
	b.add(Fact, "files of the project", strings.Join(found, "\n"))
}

// touchedFiles returns the files that a node's agents name as changed in the node's newest visit.
func (b *builder) touchedFiles(n *plan.Node) []string {
	var names []string
	for _, w := range b.iterationRanges(n.Path) {
		iterations, err := w.iterations(b.Plan)
		b.keep(err)
		for _, it := range iterations {
			data, err := b.Dir.Read(it.Result(), result.MaxBytes)
			if err != nil {
				continue // a failed iteration
			}
			for _, name := range result.FilesTouched(data) {
				names = append(names, b.projectPath(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fileSizes returns a list of files with their sizes.
func (s Source) fileSizes(names []string) string {
	var b strings.Builder
	for _, name := range names {
		size := "not there"
		if info, err := s.Project.Stat(name); err == nil {
			size = fmt.Sprint(info.Size(), " bytes")
		}
		fmt.Fprintf(&b, "- %s (%s)\n", oneLine(name), size)
	}
	return b.String()
}

// changes adds a list of the files that the agents of all nodes name as changed.
func (b *builder) changes() {
	var names []string
	for _, n := range b.enteredNodes() {
		if n.Kind == plan.KindStage {
			names = append(names, b.touchedFiles(n)...)
		}
	}
	slices.Sort(names)
	b.add(Fact, "changed files", b.fileSizes(slices.Compact(names)))
}
