package scaffold

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

// Project is a small pipeline with a stage of its own, for a project that has none.
type Project struct {
	// Name is the pipeline's; its stage is called after it.
	Name string
	// Provider does the work; "" leaves that to the settings.
	Provider string
}

// Files are the contents of the project's files, by their slash-separated paths relative to it. The fault is [ErrName].
func (p Project) Files() (map[string][]byte, error) {
	if !names.MatchString(p.Name) {
		return nil, fmt.Errorf("%q: %w", p.Name, ErrName)
	}
	const within = "template/project/"
	all := map[string][]byte{}
	err := fs.WalkDir(templates, path.Clean(within), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := filled(name, p)
		all[strings.ReplaceAll(target(strings.TrimPrefix(name, within)), "NAME", p.Name)] = text
		return err
	})
	return all, err
}

// filled is a template with the data in it.
func filled(name string, data any) ([]byte, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}
