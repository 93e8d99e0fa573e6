package tool

import (
	"context"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

const (
	maxSearched = 2 << 20 // bytes of a file that is searched
	maxMatch    = 400     // bytes of a line that are shown
)

type searchArgs struct {
	Pattern, Path, Glob string
	Limit               int
}

type searchResult struct {
	Matches   []match     `json:"matches"`
	Files     int         `json:"files"`
	Truncated *truncation `json:"truncated,omitempty"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (a searchArgs) prepare(s *Set, p *PreparedCall) error {
	pattern, err := regexp.Compile(a.Pattern)
	if err != nil {
		return InvalidArgs("/pattern: %s", err)
	}
	if !doublestar.ValidatePattern(a.Glob) {
		return InvalidArgs("/glob: is not a valid pattern")
	}
	start, err := s.locate(a.Path, false)
	if err != nil {
		return err
	}
	p.Effect, p.Category, p.Paths = sdk.EffectNone, sdk.CategoryFileRead, []string{start.rel}
	p.run = func(ctx context.Context) (outcome, error) {
		root, name, done, err := start.open()
		if err != nil {
			return outcome{}, err
		}
		defer done()
		return (&search{set: s, args: a, pattern: pattern, root: root, top: name, shown: start.rel}).run(ctx)
	}
	return nil
}

// search is one search over the files.
type search struct {
	set     *Set
	args    searchArgs
	pattern *regexp.Regexp
	root    *os.Root
	top     string // the start of the search, in root
	shown   string // top as the model knows it
	result  searchResult
	total   int
}

// skippedDirectories hold no sources of the project: dependencies, and the records of earlier agents.
var skippedDirectories = []string{".git", "node_modules", "pipeline-runs"}

func (w *search) run(ctx context.Context) (outcome, error) {
	w.result.Matches = []match{}
	err := fs.WalkDir(w.root.FS(), w.top, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case p == w.top && err != nil:
			return err
		case err != nil:
			return nil //nolint:nilerr // an unreadable directory is not searched
		case d.IsDir() && p != w.top && (slices.Contains(skippedDirectories, d.Name()) || w.set.holdsSecrets(p)):
			return fs.SkipDir
		case !d.Type().IsRegular() || p != w.top && !w.selects(p):
			return nil
		}
		w.searchFile(p)
		if w.total > mostCounted {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return outcome{}, fileError(w.shown, err)
	}
	w.result.Matches, _ = fitEntries(w.result.Matches, w.set.maxBytes(), func(m match) int { return len(m.Path) + len(m.Text) + len(`{"path":"","line":1234,"text":""},`) })
	if left := w.total - len(w.result.Matches); left > 0 {
		w.result.Truncated = &truncation{Entries: left}
	}
	return outcome{data: w.result}, nil
}

// selects reports whether the file's name selects it for the search.
func (w *search) selects(p string) bool {
	if w.set.holdsSecrets(p) {
		return false
	}
	if w.args.Glob == "" {
		return true
	}
	name := path.Base(p)
	if p != w.top && strings.Contains(w.args.Glob, "/") {
		name = pathBelow(w.top, p)
	}
	return doublestar.MatchUnvalidated(w.args.Glob, name)
}

// searchFile searches one file. A file that cannot be read, or is not text, is not counted.
func (w *search) searchFile(p string) {
	info, err := w.root.Lstat(p)
	if err != nil || info.Size() > maxSearched {
		return
	}
	content, err := loadFile(w.root, p)
	if err != nil || binary(content) {
		return
	}
	w.result.Files++
	lines := splitLines(text(content))
	var plain []string
	for i, line := range lines {
		if !w.pattern.MatchString(line) {
			continue
		}
		if w.total++; len(w.result.Matches) >= w.args.Limit {
			continue
		}
		if plain == nil {
			plain = w.set.redactLines(lines)
		}
		shown := w.shown
		if p != w.top {
			shown = path.Join(w.shown, pathBelow(w.top, p))
		}
		w.result.Matches = append(w.result.Matches, match{Path: shown, Line: i + 1, Text: cutLine(plain[i])})
	}
}

func cutLine(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if shown := head(line, maxMatch); shown != line {
		return shown + " [...]"
	}
	return line
}

// secretFiles are names of files and directories that usually hold secrets, secretPaths the ends of further paths
// (REQUIREMENTS C5). No policy decides on the files of a search; only a call that names such a file may read it.
var (
	secretFiles = []string{
		".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".netrc", "_netrc", ".dockercfg", ".npmrc",
		".pypirc", ".nuget", ".git-credentials", ".gitconfig", ".pgpass", ".my.cnf", "secrets", "private",
	}
	secretPaths = []string{
		"/.config/gcloud", "/.config/gh/hosts.yml", "/.docker/config.json", "/.cargo/credentials", "/.cargo/credentials.toml", "/.m2/settings.xml",
		"/.gradle/gradle.properties",
	}
)

// secretNames returns the globs of secretFiles and secretPaths, at any depth.
func secretNames() []string {
	names := slices.Clone(secretFiles)
	for _, end := range secretPaths {
		names = append(names, strings.TrimPrefix(end, "/"))
	}
	return names
}

// holdsSecrets reports whether a path is named like a secret or protected by a policy. A search skips such a path, and no
// command may name it.
func (s *Set) holdsSecrets(p string) bool {
	p = strings.ToLower(p)
	return slices.ContainsFunc(secretFiles, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, path.Base(p)) }) ||
		slices.ContainsFunc(secretPaths, func(end string) bool { return strings.HasSuffix("/"+p, end) }) ||
		s.matchesPolicy(p)
}

// matchesPolicy reports whether a policy protects the file, whose name is in lower case.
func (s *Set) matchesPolicy(name string) bool {
	return slices.ContainsFunc(s.o.Protected, func(pattern string) bool { return doublestar.MatchUnvalidated(strings.ToLower(pattern), name) })
}
