package compile

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// inputExtensions are the extensions of the files that an initial input stands for if it is a directory.
var inputExtensions = []string{".md", ".yaml", ".json", ".txt"}

// pattern is one initial input as written: a file, a directory or a glob.
type pattern struct {
	text string
	at   dialect.Location
}

// initialInputs expands the patterns to absolute paths of files, sorted, without repetition. A pattern without
// a match causes a warning. The result is nil for no patterns, and an empty list for no matches.
func initialInputs(c *compiler, patterns []pattern) []string {
	if len(patterns) == 0 {
		return nil
	}
	files := []string{}
	for _, p := range patterns {
		found := expand(c.Project, p.text)
		if len(found) == 0 {
			p.at.Warnf(yamldoc.CodeNoInput, "", "initial input %q matches no file", p.text)
		}
		files = append(files, found...)
	}
	return dialect.SortedUnique(files)
}

// expand returns the files of a pattern. A directory stands for the files below it with an extension of
// inputExtensions.
func expand(project, pattern string) []string {
	path := pattern
	if !filepath.IsAbs(path) {
		path = filepath.Join(project, path)
	}
	if sources.IsFile(path) {
		return []string{path}
	}
	if strings.ContainsAny(pattern, "*?[") {
		matches, _ := filepath.Glob(path) // a malformed pattern matches nothing
		return slices.DeleteFunc(matches, func(m string) bool { return !sources.IsFile(m) })
	}
	var files []string
	_ = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains(inputExtensions, filepath.Ext(file)) && sources.IsFile(file) && !entry.IsDir() {
			files = append(files, file)
		}
		return nil // unreadable files are not inputs
	})
	return files
}

func readInitialPatterns(m dialect.Map) []pattern {
	items, _ := m.List("inputs")
	var patterns []pattern
	for _, item := range items {
		if item.Kind == yamldoc.List || item.Kind == yamldoc.Map || item.Kind == yamldoc.Null {
			m.WrongItem(item, "an initial input", "text")
			continue
		}
		patterns = append(patterns, pattern{item.Source, m.At(item.Pos)})
	}
	return patterns
}

func flagPatterns(c *compiler) []pattern {
	var patterns []pattern
	for _, text := range c.Overrides.Inputs {
		patterns = append(patterns, pattern{text, c.overrideLocation("input")})
	}
	return patterns
}
