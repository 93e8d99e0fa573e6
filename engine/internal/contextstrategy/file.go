package contextstrategy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// Bounds of what is read for a brief, whatever the budget.
const (
	maxFile  = 1 << 20 // bytes of a file
	maxFiles = 50      // files
	maxTree  = 500     // lines of the list of files
	maxLooks = 100     // iterations of a place, the newest ones
)

// body is a file as a section whose name begins with what. One that is not there, or is no file that can be read, is
// left out: an agent may have named anything.
func (s Source) body(what, file string) []Section {
	f, err := s.open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	section := Section{Kind: File, Name: what + s.relative(file), Size: info.Size()}
	switch {
	case !isText(data):
		section.Text, section.Size = fmt.Sprintf("(%d bytes, no text)", info.Size()), 0
	case int64(len(data)) < info.Size():
		section.Text = s.Redactor.Text(strings.ToValidUTF8(string(data), ""))
	default:
		section.Text, section.Size = s.Redactor.Text(string(data)), 0
	}
	return []Section{section}
}

// isText reports whether data is text, but for a character that the end cut through.
func isText(data []byte) bool {
	end := len(data)
	for end > 0 && end > len(data)-utf8.UTFMax && !utf8.RuneStart(data[end-1]) {
		end--
	}
	return utf8.Valid(data[:max(0, end-1)]) && !slices.Contains(data, 0)
}

// open opens a file of the project, or one that whoever started the run gave from elsewhere, by its absolute path.
func (s Source) open(file string) (*os.File, error) {
	name := s.relative(file)
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

// relative is a path as it is in the project; one that leads elsewhere stays absolute.
func (s Source) relative(file string) string {
	if !filepath.IsAbs(file) {
		return path.Clean(filepath.ToSlash(file))
	}
	if name, err := filepath.Rel(s.Project.Path(), file); err == nil && filepath.IsLocal(name) {
		return filepath.ToSlash(name)
	}
	return file
}

// namedFiles are the files of the project that the step names, or else the artifact that the node works from.
func (s Source) namedFiles() ([]Section, error) {
	item, err := s.item()
	if err != nil {
		return nil, err
	}
	if item == nil {
		if item, _, err = s.given(); err != nil {
			return nil, err
		}
	}
	var sections []Section
	for _, name := range s.filesIn(item) {
		sections = append(sections, s.body("file ", name)...)
	}
	return sections, nil
}

// filesIn are the texts in a value that name files of the project, each once, in the order of the value's keys.
func (s Source) filesIn(value any) []string {
	var names []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key])
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case string:
			if len(names) < maxFiles && s.isFile(v) && !slices.Contains(names, s.relative(v)) {
				names = append(names, s.relative(v))
			}
		}
	}
	walk(value)
	return names
}

// isFile reports whether a text is the path of a file that belongs to the project's work.
func (s Source) isFile(text string) bool {
	if text == "" || len(text) > 4096 || strings.ContainsAny(text, "\n\x00") {
		return false
	}
	name := s.relative(text)
	if !filepath.IsLocal(name) || ours(name) {
		return false
	}
	info, err := s.Project.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// ours reports whether a path of the project is git's or the engine's.
func ours(name string) bool {
	for _, dir := range []string{store.RunsDir, store.LocksDir, store.CompletionsFile, store.CompletionsLock} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return slices.Contains(strings.Split(name, "/"), ".git")
}

// tree lists the files of the project, those near its root first where there are too many.
func (s Source) tree() ([]Section, error) {
	var found []string
	more := false
	for queue := []string{"."}; len(queue) > 0 && !more; queue = queue[1:] {
		entries, err := s.Project.Entries(queue[0])
		if err != nil {
			continue // one that may not be read
		}
		for _, e := range entries {
			name := path.Join(queue[0], e.Name())
			if ours(name) {
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
	return []Section{{Kind: Fact, Name: "files of the project", Text: strings.Join(found, "\n")}}, nil
}

// touched are the files that the agents of a node say they changed in its newest visit.
func (s Source) touched(n *plan.Node) ([]string, error) {
	var names []string
	for _, w := range s.works(n.Path) {
		iterations, err := w.iterations(s.Plan)
		if err != nil {
			return nil, err
		}
		for _, it := range iterations {
			data, err := s.Dir.Read(it.Result(), result.MaxBytes)
			if err != nil {
				continue // an iteration that failed
			}
			var said struct {
				Work struct {
					FilesTouched []string `json:"files_touched"`
				} `json:"work"`
			}
			if json.Unmarshal(data, &said) != nil {
				continue
			}
			for _, name := range said.Work.FilesTouched {
				names = append(names, s.relative(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// stat is a list of files with their sizes.
func (s Source) stat(names []string) string {
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

// changes lists what the agents of all nodes say they changed.
func (s Source) changes() ([]Section, error) {
	var names []string
	for _, n := range s.entered() {
		if n.Kind != plan.KindStage {
			continue
		}
		touched, err := s.touched(n)
		if err != nil {
			return nil, err
		}
		names = append(names, touched...)
	}
	slices.Sort(names)
	return []Section{{Kind: Fact, Name: "changed files", Text: s.stat(slices.Compact(names))}}, nil
}

// before is what the node before left: what was said last, its artifact, and the files that it changed.
func (s Source) before() ([]Section, error) {
	n := s.previous()
	if n == nil {
		return nil, nil
	}
	sections, err := s.outputs(n, false)
	if err != nil {
		return nil, err
	}
	artifact, err := s.artifactText(n)
	if err != nil || n.Kind != plan.KindStage {
		return append(sections, artifact), err
	}
	names, err := s.touched(n)
	if err != nil {
		return nil, err
	}
	sections = append(sections, artifact, Section{Kind: Fact, Name: "files changed by " + n.ID, Text: s.stat(names)})
	for _, name := range names[:min(len(names), maxFiles)] {
		if s.isFile(name) {
			sections = append(sections, s.body("file ", name)...)
		}
	}
	return sections, nil
}
