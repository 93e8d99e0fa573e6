package testfirst

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// testDirs are the directories, in lower case, whose files are tests or belong to them, by the conventions of Go, Python,
// JavaScript, Rust and Java. They also hold settings of runners, and modules that Python loads instead of a runner's. In
// otherDirs this holds by those of Perl and Ruby, but not for files of codeNames.
var (
	testDirs  = []string{"test", "tests", "__tests__", "__mocks__", "__fixtures__", "testdata", "__snapshots__", ".cargo", "unittest", "pytest", "_pytest"}
	otherDirs = []string{"t", "spec"}
	codeNames = []string{".go", ".py", ".rs", ".java", ".kt", ".cs"}
)

// testNames match the names of test files by the conventions of languages, and the configuration files of test runners,
// which decide what runs.
var testNames = []string{
	"*_test.*", "*_spec.rb", // go help test; Rust, Ruby, C++, Dart, Elixir
	"test_*.py", "tests.py", "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", ".coveragerc", // docs.pytest.org, "Good Integration Practices"; Django
	"*.test.*", "*.spec.*", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vitest.workspace.*", ".mocharc*", "babel.config.*", ".babelrc*", ".npmrc", // jestjs.io, vitest.dev, mochajs.org
	"*Test.java", "Test[A-Z]*.java", "*Tests.java", "*TestCase.java", "*[a-z0-9]IT.java", "*Test.kt", "*Tests.kt", // Maven Surefire and Failsafe
	"unittest.py", "pytest.py", "sitecustomize.py", "usercustomize.py", "entry_points.txt", // Python loads them before or instead of a runner's
	"*Test.cs", "*Tests.cs", "*Test.php", "phpunit.xml*", "*Tests.swift", "tests.rs", "*_tests.rs",
}

// sections match the headers of the parts of files of a project that belong to test runners, and keys that stand for such
// a header. The other parts may change with the code.
var sections = map[string]*regexp.Regexp{
	"pyproject.toml": regexp.MustCompile(`^\s*\[*[\s"']*tool[\s"']*\.[\s"']*(?:pytest|coverage|tox|nox)\b`),
	"setup.cfg":      regexp.MustCompile(`^\[(?:tool:pytest|coverage)`),
	"Cargo.toml":     regexp.MustCompile(`^\s*\[\s*(?:lib|\[\s*test|profile\s*\.\s*test)\b`),
}

// development matches the headers of packages for development, which tests may bring with them, and code may, too.
var development = regexp.MustCompile(`^\s*\[\s*(?:target\..*)?(?:dev-dependencies|dependency-groups|project\.optional-dependencies|tool\.poetry\.(?:group|dev-dependencies))\b`)

// lockFiles hold the versions of packages, which tests may bring with them.
var lockFiles = []string{"go.mod", "go.sum", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock", "uv.lock", "poetry.lock"}

// header matches the line that begins a section.
var header = regexp.MustCompile(`^\s*\[[^,]*\]\s*(?:#.*)?$`)

// splitSections returns the lines that belong to test runners, and the other lines, both without empty lines. Packages
// for development are in neither.
func splitSections(content string, pattern *regexp.Regexp) (part, rest string) {
	inside, ignored := false, false
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		belongs := pattern.MatchString(line)
		if header.MatchString(line) {
			inside, ignored = belongs, development.MatchString(line)
		}
		switch {
		case line == "" || ignored:
		case inside || belongs:
			part += line + "\n"
		default:
			rest += line + "\n"
		}
	}
	return part, rest
}

// packageKeys are the members of package.json that belong to test runners.
var packageKeys = []string{"scripts", "jest", "vitest", "mocha", "ava", "tap", "type"}

// Files says which files of a project are tests. The zero value knows the conventions of languages only.
type Files struct {
	Patterns []string // of further test files, as of [path.Match]; ** matches any directories
	Support  []string // of files that may be added with the tests
	Command  string   // the command of the tests; the files that it names decide what runs
}

// IsTest reports whether a file is a test, or decides which tests run.
func (f Files) IsTest(name string) bool {
	dirs := strings.Split(strings.ToLower(path.Dir(name)), "/")
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return slices.Contains(testDirs, dir) || strings.HasSuffix(dir, ".tests") ||
			slices.Contains(otherDirs, dir) && !slices.Contains(codeNames, path.Ext(name))
	}) ||
		slices.ContainsFunc(testNames, func(pattern string) bool { ok, _ := path.Match(pattern, path.Base(name)); return ok }) ||
		matchesAny(f.Patterns, name) || f.namedByCommand(name)
}

// OnlyTests reports whether a change of a file concerns tests alone, or a file that may be added with them.
func (f Files) OnlyTests(name, before, after string) bool {
	if f.IsTest(name) || matchesAny(f.Support, name) || slices.Contains(lockFiles, path.Base(name)) {
		return true
	}
	_, restBefore, hasParts := f.split(name, before)
	_, restAfter, _ := f.split(name, after)
	return hasParts && restBefore == restAfter
}

// commandWords separates the words of a command text.
var commandWords = regexp.MustCompile(`[\s;&|()<>"'=]+`)

func (f Files) namedByCommand(name string) bool {
	if _, _, hasParts := f.split(name, ""); hasParts && path.Ext(name) != ".rs" {
		return false // a manifest
	}
	words := commandWords.Split(f.Command, -1)
	if slices.ContainsFunc(words, func(word string) bool { return word != "" && path.Clean(word) == name }) {
		return true
	}
	return slices.Contains(words, "make") && (name == "Makefile" || name == "makefile" || name == "GNUmakefile")
}

// matchesAny reports whether a file or one of its directories matches a pattern. A pattern without a slash matches names.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		parts := strings.Split(strings.TrimPrefix(path.Clean(pattern), "/"), "/")
		if len(parts) == 1 {
			parts = append([]string{"**"}, parts...)
		}
		return matches(parts, strings.Split(name, "/"))
	})
}

// matches reports whether the first directories of a path match a pattern; ** matches any number of them.
func matches(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == "**":
		for i := range parts {
			if matches(pattern[1:], parts[i:]) {
				return true
			}
		}
		return false
	case len(parts) == 0:
		return false
	}
	ok, _ := path.Match(pattern[0], parts[0])
	return ok && matches(pattern[1:], parts[1:])
}

// TestPart returns the part of a file that belongs to tests: everything of a test file, the settings of test runners in
// a project's configuration, the test modules in Rust sources. It is "" where there is none.
func (f Files) TestPart(name, content string) string {
	if f.IsTest(name) {
		return content
	}
	part, _, _ := f.split(name, content)
	return part
}

// split returns the part of a file that belongs to tests, and its rest. hasParts is false for a file of another kind.
func (f Files) split(name, content string) (part, rest string, hasParts bool) {
	base := path.Base(name)
	switch pattern := sections[base]; {
	case pattern != nil:
		part, rest = splitSections(content, pattern)
	case base == "package.json":
		part, rest = f.splitPackage(content)
	case path.Ext(name) == ".rs":
		part, rest = splitRust(content)
	default:
		return "", "", false
	}
	return part, rest, true
}

// splitPackage splits a package.json. Packages for development are in neither part: tests bring theirs with them.
func (f Files) splitPackage(content string) (part, rest string) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &members) != nil {
		return content, content
	}
	kept := map[string]any{}
	for _, key := range packageKeys {
		if v, ok := members[key]; ok {
			kept[key] = v
		}
		delete(members, key)
	}
	delete(members, "devDependencies")
	var scripts map[string]string
	if raw, ok := kept["scripts"].(json.RawMessage); ok && json.Unmarshal(raw, &scripts) == nil {
		if kept["scripts"] = f.testScripts(scripts); len(f.testScripts(scripts)) == 0 {
			delete(kept, "scripts")
		}
	}
	return marshal(kept), marshal(members)
}

// marshal returns a map as text, "" for an empty one.
func marshal[V any](members map[string]V) string {
	if len(members) == 0 {
		return ""
	}
	raw, _ := json.Marshal(members) //nolint:errchkjson // parts of a document that was read
	return string(raw)
}

// testScripts returns the scripts of tests, and the scripts that these or the command of the tests name.
func (f Files) testScripts(scripts map[string]string) map[string]string {
	kept, texts := map[string]string{}, []string{f.Command}
	for i := 0; i < len(texts); i++ {
		words := commandWords.Split(texts[i], -1)
		for name, text := range scripts {
			if _, ok := kept[name]; !ok && (strings.Contains(name, "test") || slices.Contains(words, name)) {
				kept[name] = text
				texts = append(texts, text)
			}
		}
	}
	return kept
}
