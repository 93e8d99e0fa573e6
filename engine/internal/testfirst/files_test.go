package testfirst

import (
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

func TestIsTest(t *testing.T) {
	files := Files{Patterns: []string{"checks/**/*.sh", "golden/", "**/fixtures/*.json", "./one/two"}, Command: "make test && sh ci/run.sh && pytest -c pyproject.toml src/lib.rs"}
	for name, want := range map[string]bool{
		"a_test.go": true, "internal/testdata/a.json": true, "a.go": false, "internal/spec/parse.go": false, "pkg/t/t.go": false, "attest.go": false,
		"test_a.py": true, "a/tests/b.py": true, "app/tests.py": true, "conftest.py": true, "contest.py": false, "sitecustomize.py": true, "a.egg-info/entry_points.txt": true, ".cargo/config.toml": true, "sub/.npmrc": true, "spec/a.py": false, "latest.py": false,
		"a.test.ts": true, "a.spec.jsx": true, "__mocks__/fs.js": true, "jest.setup.js": true, "spec/helper.js": true, "src/testing.js": false,
		"src/test/java/A.java": true, "a/BTest.java": true, "TestB.java": true, "LoginIT.java": true, "Testimonial.java": false, "Contest.java": false,
		"src/tests.rs": true, "tests/it.rs": true, "src/a_test.rs": true, "Core.Tests/Fakes.cs": true, "t/basic.t": true, "Tests/A.swift": true,
		"checks/a.sh": true, "checks/a/b/c.sh": true, "checks/a.txt": false, "a/golden/b/c": true, "a/b/fixtures/c.json": true, "fixtures/c.json": true, "one/two/three": true, "a/one/two": false,
		"Makefile": true, "sub/Makefile": false, "ci/run.sh": true, "run.sh": false, "pyproject.toml": false,
	} {
		if got := files.IsTest(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if (Files{}).IsTest("Makefile") {
		t.Error("Makefile is a test without make")
	}
}

const rust = `pub fn a() {} // #[cfg(test)] mod x {
/* #[cfg(test)] mod y { /* nested */ */
const B: &str = r#"" #[cfg(test)] mod z { "#;
%s
pub fn c<'a>(s: &'a str) -> char { '{' }
`

const rustTests = `#[cfg(test)]
#[allow(unused)]
pub(crate) mod tests {
    #[cfg(test)]
    mod inner { const C: char = '\''; } // }
    /* } */
    #[test]
    fn braces() { assert_eq!("}\"}", r"}\"); let c = '}'; let d = b'\u{7d}'; }
}
`

// The part of tests is that of before after a change of code, and the rest is that of before after a change of tests.
func TestParts(t *testing.T) {
	files := Files{Command: "npm run check", Support: []string{"data"}}
	for name, tt := range map[string]struct {
		file, before, after string
		part                string // of after
		samePart, onlyTests bool
	}{
		"a test":                {file: "a_test.go", before: "a", after: "b", part: "b", onlyTests: true},
		"code":                  {file: "a.go", before: "a", after: "b", samePart: true},
		"support":               {file: "data/a.txt", before: "a", after: "b", samePart: true, onlyTests: true},
		"a version of a module": {file: "go.sum", before: "a", after: "b", samePart: true, onlyTests: true},

		"another section": {file: "pyproject.toml", before: "[tool.pytest.ini_options]\naddopts = [\n  '-x',\n]\n", after: "[tool.pytest.ini_options]\naddopts = [\n  '-x',\n]\n\n[tool.ruff]\nx = 1\n", part: "[tool.pytest.ini_options]\naddopts = [\n'-x',\n]\n", samePart: true},
		"adjacent sections": {
			file: "pyproject.toml", before: "[tool.coverage.run]\na = 1\n[tool.pytest.ini_options]\n", after: "[tool.coverage.run]\na = 1\n[ tool . pytest.ini_options ]\naddopts = '-k no'\n",
			part: "[tool.coverage.run]\na = 1\n[ tool . pytest.ini_options ]\naddopts = '-k no'\n", onlyTests: true,
		},
		"a key instead of a section": {file: "pyproject.toml", before: "", after: "tool.pytest.ini_options.addopts = '-k no'\n", part: "tool.pytest.ini_options.addopts = '-k no'\n", onlyTests: true},
		"packages of tests":          {file: "pyproject.toml", before: "[project]\nname = 'a'\n", after: "[project]\nname = 'a'\n[dependency-groups]\ndev = ['pytest']\n", samePart: true, onlyTests: true},
		"setup.cfg":                  {file: "a/setup.cfg", before: "[metadata]\n", after: "[metadata]\n[tool:pytest]\nx\n", part: "[tool:pytest]\nx\n", onlyTests: true},
		"Cargo.toml":                 {file: "Cargo.toml", before: "[package]\n[dependencies]\n", after: "[package]\n[dependencies]\na = '1'\n[dev-dependencies]\nb = '1'\n[[test]]\nharness = false\n", part: "[[test]]\nharness = false\n"},

		"scripts": {
			file: "package.json", before: `{"scripts": {"test": "npm run all", "all": "node --test", "start": "a"}, "version": "1"}`, after: `{"scripts": {"start": "b", "all": "node --test", "test": "npm run all"}, "version": "1", "devDependencies": {"vitest": "1"}}`,
			part: `{"scripts":{"all":"node --test","test":"npm run all"}}`, samePart: true, onlyTests: true,
		},
		"a script that tests call":  {file: "package.json", before: `{"scripts": {"check": "node --test"}}`, after: `{"scripts": {"check": "true"}}`, part: `{"scripts":{"check":"true"}}`, onlyTests: true},
		"a new package":             {file: "package.json", before: "", after: `{"name": "a", "scripts": {"start": "a"}}`, samePart: true},
		"a package of code":         {file: "package.json", before: `{"jest": {}}`, after: `{"jest": {}, "dependencies": {"a": "1"}}`, part: `{"jest":{}}`, samePart: true},
		"package.json with a fault": {file: "package.json", before: `{}`, after: `{`, part: `{`},

		"a new module in Rust":     {file: "src/lib.rs", before: strings.Replace(rust, "%s\n", "", 1), after: strings.Replace(rust, "%s\n", rustTests, 1), part: rustTests, onlyTests: true},
		"code beside a module":     {file: "src/lib.rs", before: rust + rustTests, after: "fn d() {}\n" + rustTests + rust, part: rustTests, samePart: true},
		"a module with a file":     {file: "src/lib.rs", before: "fn a() {}\n", after: "fn a() {}\n\n#[cfg(all(test, unix))]\nmod tests;\n", part: "#[cfg(all(test, unix))]\nmod tests;\n", onlyTests: true},
		"a module that is code":    {file: "src/lib.rs", before: "", after: "#[cfg(any(test, unix))]\nmod a {}\n", samePart: true},
		"code after a comment":     {file: "src/lib.rs", before: "", after: "/* #[cfg(test)] mod a { */ pub fn b() {} /* } */\n", samePart: true},
		"a module that has no end": {file: "src/lib.rs", before: "", after: "#[cfg(test)] mod a { r#\"", part: "#[cfg(test)] mod a { r#\"\n", onlyTests: true},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Equal(t, tt.part, files.TestPart(tt.file, tt.after))
			testkit.Equal(t, tt.samePart, files.TestPart(tt.file, tt.before) == files.TestPart(tt.file, tt.after))
			testkit.Equal(t, tt.onlyTests, files.OnlyTests(tt.file, tt.before, tt.after))
		})
	}
}

// FuzzTestPart splits any file: no line is lost, and no other character of a Rust source.
func FuzzTestPart(f *testing.F) {
	for _, content := range []string{rust, rustTests, "[a]\n[tool.pytest]\nb\n[c]", `{"scripts": {"test": "a"}}`, "/*/*", `r##"`, "'\\", `"\`, "#[cfg(test)] mod a {"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		if got := (Files{}).TestPart("a_test.go", content); got != content {
			t.Errorf("the part of a test is %q", got)
		}
		(Files{Command: content}).TestPart("package.json", content)
		characters := func(text string) (count [256]int) {
			for _, c := range []byte(strings.Join(strings.Fields(text), "")) {
				count[c]++
			}
			return count
		}
		for _, name := range []string{"a.rs", "Cargo.toml"} {
			part, rest, _ := (Files{}).split(name, content)
			isDropped := name == "Cargo.toml" && slices.ContainsFunc(strings.Split(content, "\n"), development.MatchString)
			if !isDropped && characters(content) != characters(part+rest) {
				t.Errorf("%s: %q is %q and %q", name, content, part, rest)
			}
		}
		if code := rustCode(content); len(code) != len(content) || strings.Count(code, "\n") != strings.Count(content, "\n") {
			t.Errorf("%q became %q", content, code)
		}
	})
}
