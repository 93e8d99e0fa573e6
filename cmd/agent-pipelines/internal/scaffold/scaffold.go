package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// SDKModule is the module that every plugin in Go is built with.
const SDKModule = "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// Kind is the kind of component that a plugin serves, as its author writes it.
type Kind string

// These are the kinds of components.
const (
	Provider    Kind = "provider"
	Termination Kind = "termination"
	Hook        Kind = "hook"
)

// nouns are the names of the kinds in sentences.
var nouns = map[Kind]string{Provider: "provider", Termination: "termination strategy", Hook: "hook action"}

// Module describes the module to write.
type Module struct {
	Kind Kind
	// Name is the name of the plugin and of its component.
	Name string
	// Path is the module path. Default: example.com/agent-plugin-<name>.
	Path string
	// SDKVersion is the SDK's version ("v0.1.0"), SDKDir a checkout of it that is used in place of any version. With
	// neither, the newest published version is left for the go command to find.
	SDKVersion string
	SDKDir     string
}

// These errors are faults of the request; nothing has been written.
var (
	ErrName  = errors.New("no name")
	ErrPath  = errors.New("no path for a module")
	ErrSDK   = errors.New("no checkout of the SDK")
	ErrTaken = errors.New("not an empty directory")
)

var (
	names = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	// paths matches module paths: fewer than Go allows, more than are usual.
	paths = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)
	plain = regexp.MustCompile(`^[A-Za-z0-9._/~+-]+$`)
)

// Write writes the module into dir, which it makes; an existing directory must be empty. Nothing is written outside of
// it, and after a failure written files are removed. It returns the paths of the files below dir.
func Write(dir string, m Module) ([]string, error) {
	d, err := m.data()
	if err != nil {
		return nil, err
	}
	return folder(dir, d, "module", string(m.Kind))
}

// Stage is a stage that is to be written.
type Stage struct {
	Name string
	// Artifact is the type of the artifact that the stage makes.
	Artifact string
}

// WriteStage writes a stage into dir as [Write] writes a module. Its faults are [ErrName] and [ErrTaken].
func WriteStage(dir string, s Stage) ([]string, error) {
	for _, name := range []string{s.Name, s.Artifact} {
		if !names.MatchString(name) {
			return nil, fmt.Errorf("%q: %w", name, ErrName)
		}
	}
	return folder(dir, s, "stage")
}

// folder makes dir and fills it with the files that folders of templates make from the data.
func folder(dir string, data any, parts ...string) ([]string, error) {
	if err := empty(dir); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, part := range parts {
		some, err := rendered(part, data)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, some)
	}
	placed, err := Place(dir, files)
	return placed.Written, err
}

// empty refuses a directory that is not empty.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w (%w)", dir, ErrTaken, err)
	case len(entries) > 0:
		return fmt.Errorf("%s: %w (it holds %s)", dir, ErrTaken, entries[0].Name())
	}
	return nil
}

// data holds the variables of the templates.
type data struct {
	Kind, Noun, Name, Binary, Module string
	SDKModule, Require, Replace      string
	Source, TestSource               string
}

func (m Module) data() (data, error) {
	d := data{
		Kind: string(m.Kind), Noun: nouns[m.Kind], Name: m.Name, Binary: "agent-plugin-" + m.Name, Module: m.Path,
		SDKModule: SDKModule, Require: m.SDKVersion, Source: string(m.Kind) + ".go", TestSource: string(m.Kind) + "_test.go",
	}
	d.Module = cmp.Or(d.Module, "example.com/"+d.Binary)
	switch {
	case d.Noun == "":
		return d, fmt.Errorf("unknown kind of plugin %q", m.Kind)
	case !names.MatchString(m.Name):
		return d, fmt.Errorf("%q: %w", m.Name, ErrName)
	case !paths.MatchString(d.Module):
		return d, fmt.Errorf("%q: %w", d.Module, ErrPath)
	case m.SDKDir == "":
		return d, nil
	}
	dir, err := filepath.Abs(m.SDKDir)
	if err != nil {
		return d, err
	}
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return d, fmt.Errorf("%s: %w (%w)", dir, ErrSDK, err)
	}
	if first, _, _ := strings.Cut(string(gomod), "\n"); strings.TrimSpace(first) != "module "+SDKModule {
		return d, fmt.Errorf("%s: %w (its go.mod begins with %q)", dir, ErrSDK, first)
	}
	d.Require, d.Replace = "v0.0.0", dir
	if !plain.MatchString(dir) {
		d.Replace = strconv.Quote(dir)
	}
	return d, nil
}

//go:embed template
var templates embed.FS

// rendered returns the files that a folder of templates makes from the data: contents by slash-separated path.
func rendered(folder string, data any) (map[string][]byte, error) {
	files, within := map[string][]byte{}, path.Join("template", folder)
	err := fs.WalkDir(templates, within, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		err = t.Execute(&b, data)
		file := strings.TrimSuffix(strings.TrimPrefix(name, within+"/"), ".tmpl")
		files[strings.ReplaceAll(file, "dot_", ".")] = b.Bytes()
		return err
	})
	return files, err
}

// Project is a small pipeline with a stage of its own, for a project that has none.
type Project struct {
	// Name is the pipeline's name; the name of its stage begins with it.
	Name string
	// Provider does the work; "" leaves that to the settings.
	Provider string
}

// Files returns the contents of the project's files by their slash-separated paths relative to it. An invalid name is an
// [ErrName].
func (p Project) Files() (map[string][]byte, error) {
	if !names.MatchString(p.Name) {
		return nil, fmt.Errorf("%q: %w", p.Name, ErrName)
	}
	all := map[string][]byte{}
	templates, err := rendered("project", p)
	for name, text := range templates {
		all[strings.ReplaceAll(name, "NAME", p.Name)] = text
	}
	return all, err
}
