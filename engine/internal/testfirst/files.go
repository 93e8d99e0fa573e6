package testfirst

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// testDirs are the directories whose files are tests or belong to them, by the conventions of Go, Python, JavaScript,
// Rust, Java, Perl and Ruby.
var testDirs = []string{"test", "tests", "__tests__", "testdata", "t", "spec", "__snapshots__"}

// testNames match the names of test files by the conventions of languages, and the configuration files of test runners,
// which decide what runs.
var testNames = []string{
	"*_test.go",                                                                     // go help test
	"test_*.py", "*_test.py", "conftest.py", "pytest.ini", "tox.ini", ".coveragerc", // docs.pytest.org, "Good Integration Practices"
	"*.test.*", "*.spec.*", "jest.config.*", "vitest.config.*", ".mocharc*", // jestjs.io, vitest.dev, mochajs.org
	"*Test.java", "Test*.java", "*Tests.java", "*TestCase.java", "*Test.kt", "*Test.cs", // Maven Surefire
	"*_spec.rb", "*_test.rb", "*_test.rs",
}

// sections begin the sections of files of a project that belong to test runners. The others may change with the code.
var sections = map[string][]string{
	"pyproject.toml": {"[tool.pytest", "[tool.coverage", "[tool.tox", "[tool.nox", "[[tool.tox"},
	"setup.cfg":      {"[tool:pytest", "[coverage"},
	"Cargo.toml":     {"[lib]", "[[test]]", "[profile.test"},
}

// sectionLines returns the lines of the sections with the beginnings.
func sectionLines(content string, beginnings []string) string {
	var lines strings.Builder
	inside := false
	for line := range strings.Lines(content) {
		if header := strings.TrimSpace(line); strings.HasPrefix(header, "[") {
			inside = slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(header, b) })
		}
		if inside {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// packageKeys are the members of package.json that belong to test runners.
var packageKeys = []string{"scripts", "jest", "vitest", "mocha", "ava", "type"}

// Files says which files of a project are tests. The zero value knows the conventions of languages only.
type Files struct {
	Patterns []string // of further test files, as of [path.Match]; ** matches any directories
	Support  []string // of files that may be added with the tests
	Command  string   // the command of the tests; the files that it names decide what runs
}

// IsTest reports whether a file is a test, or decides which tests run.
func (f Files) IsTest(name string) bool {
	dirs := strings.Split(path.Dir(name), "/")
	return slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(testDirs, dir) }) ||
		slices.ContainsFunc(testNames, func(pattern string) bool { ok, _ := path.Match(pattern, path.Base(name)); return ok }) ||
		matchesAny(f.Patterns, name) || f.namedByCommand(name)
}

// OnlyTests reports whether a change of a file concerns tests alone, or a file that may be added with them.
func (f Files) OnlyTests(name, before, after string) bool {
	if f.IsTest(name) || matchesAny(f.Support, name) {
		return true
	}
	return path.Ext(name) == ".rs" && withoutRustTests(before) == withoutRustTests(after)
}

// commandWords separates the words of a command text.
var commandWords = regexp.MustCompile(`[\s;&|()<>"'=]+`)

func (f Files) namedByCommand(name string) bool {
	words := commandWords.Split(f.Command, -1)
	if slices.ContainsFunc(words, func(word string) bool { return word != "" && path.Clean(word) == name }) {
		return true
	}
	return slices.Contains(words, "make") && (name == "Makefile" || name == "makefile" || name == "GNUmakefile")
}

// matchesAny reports whether a file or one of its directories matches a pattern. A pattern without a slash matches names.
func matchesAny(patterns []string, name string) bool {
	for _, pattern := range patterns {
		pattern = strings.TrimPrefix(strings.TrimSuffix(pattern, "/**"), "**/")
		parts := strings.Split(name, "/")
		for i := range parts {
			for j := i + 1; j <= len(parts); j++ {
				if i > 0 && strings.Contains(pattern, "/") {
					break
				}
				if ok, _ := path.Match(pattern, strings.Join(parts[i:j], "/")); ok {
					return true
				}
			}
		}
	}
	return false
}

// TestPart returns the part of a file that belongs to tests: everything of a test file, the settings of test runners in
// a project's configuration, the test modules in Rust sources. It is "" where there is none.
func (f Files) TestPart(name, content string) string {
	base := path.Base(name)
	switch beginnings := sections[base]; {
	case f.IsTest(name):
		return content
	case beginnings != nil:
		return sectionLines(content, beginnings)
	case base == "package.json":
		return packagePart(content)
	case path.Ext(name) == ".rs":
		return strings.Join(rustModules(content), "\n")
	default:
		return ""
	}
}

func packagePart(content string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(content), &members) != nil {
		return content
	}
	kept := map[string]json.RawMessage{}
	for _, key := range packageKeys {
		if v, ok := members[key]; ok {
			kept[key] = v
		}
	}
	part, err := json.Marshal(kept)
	if err != nil {
		return content
	}
	return string(part)
}

// rustModule matches the start of a test module, up to its brace (The Rust Book, 11.3).
var rustModule = regexp.MustCompile(`#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+\w+\s*\{`)

func withoutRustTests(content string) string {
	for _, module := range rustModules(content) {
		content = strings.Replace(content, module, "", 1)
	}
	return strings.TrimSpace(content)
}

// rustModules returns the test modules of a Rust source, by their braces.
func rustModules(content string) []string {
	var modules []string
	for _, at := range rustModule.FindAllStringIndex(content, -1) {
		depth, end := 1, at[1]
		for ; end < len(content) && depth > 0; end++ {
			switch content[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		modules = append(modules, content[at[0]:end])
	}
	return modules
}
