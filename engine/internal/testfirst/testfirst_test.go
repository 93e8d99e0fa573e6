package testfirst_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testfirst"
)

func TestIsTest(t *testing.T) {
	files := testfirst.Files{Patterns: []string{"checks/**", "*.feature", "a/*/b.txt"}, Command: "sh ./run-tests --all && make check"}
	for name, want := range map[string]bool{
		"half_test.go": true, "half.go": false, "internal/x/testdata/a.json": true, "tests/fixture.py": true, "src/test_calc.py": true, "latest.py": false,
		"conftest.py": true, "web/button.test.tsx": true, "web/button.tsx": false, "src/__tests__/a.js": true, "jest.config.ts": true,
		"src/test/java/A.java": true, "src/main/java/LatestTest.java": true, "contest/main.go": false, "t/add.sh": true, "spec/a_spec.rb": true,
		"checks/deep/er/a.sh": true, "x/login.feature": true, "a/z/b.txt": true, "a/z/c.txt": false, "run-tests": true, "Makefile": true, "lib/run-tests": false,
	} {
		if got := files.IsTest(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

const rustCode, rustModule, rust = "pub fn half(n: i32) -> i32 { n / 2 }\n\n", "#[cfg(test)]\nmod tests {\n    #[test]\n    fn halves() { assert_eq!(super::half(4), 2); }\n}", rustCode + rustModule + "\n"

func TestTestPart(t *testing.T) {
	for title, tt := range map[string]struct{ name, content, want string }{
		"a test":        {"a_test.go", "package a", "package a"},
		"code":          {"a.go", "package a", ""},
		"pyproject":     {"pyproject.toml", "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '-q'\n[tool.coverage.run]\nbranch = true\n[tool.black]\nx = 1\n", "[tool.pytest.ini_options]\naddopts = '-q'\n[tool.coverage.run]\nbranch = true\n"},
		"setup.cfg":     {"setup.cfg", "[metadata]\nname = a\n", ""},
		"package.json":  {"package.json", `{"name": "a", "dependencies": {"b": "1"}, "scripts": {"test": "jest"}}`, `{"scripts":{"test": "jest"}}`},
		"no JSON":       {"package.json", "{", "{"},
		"a Rust module": {"src/lib.rs", rust, rust[strings.Index(rust, "#[cfg") : len(rust)-1]},
	} {
		if got := (testfirst.Files{}).TestPart(tt.name, tt.content); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(tt.want, " ", "") {
			t.Errorf("%s: %q, want %q", title, got, tt.want)
		}
	}
}

func TestOnlyTests(t *testing.T) {
	files := testfirst.Files{Support: []string{"fixtures/*", "package.json"}}
	for title, tt := range map[string]struct {
		name, before, after string
		want                bool
	}{
		"a test":                    {"a_test.go", "", "x", true},
		"code":                      {"a.go", "", "x", false},
		"a fixture":                 {"fixtures/a.json", "", "x", true},
		"a Rust test module":        {"src/lib.rs", rustCode, rust, true},
		"Rust code beside a module": {"src/lib.rs", rust, strings.Replace(rust, "n / 2", "n", 1), false},
	} {
		if got := files.OnlyTests(tt.name, tt.before, tt.after); got != tt.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}

func TestDeclared(t *testing.T) {
	for title, tt := range map[string]struct {
		name, content string
		want          []string
	}{
		"Go":         {"a_test.go", "func TestA(t *testing.T) {}\nfunc helper() {}\nfunc TestMain(m *testing.M) {}\nfunc FuzzB(f *testing.F) {}\n", []string{"TestA", "FuzzB"}},
		"Python":     {"test_a.py", "class TestA:\n    def test_one(self):\n        pass\n\nasync def test_two():\n    pass\n", []string{"test_one", "test_two"}},
		"conftest":   {"conftest.py", "def test_x(): pass", nil},
		"TypeScript": {"a.test.ts", "describe('a', () => { it('adds one', () => {}); test(\"adds ${n}\", () => {}) })", []string{"adds one"}},
		"Rust":       {"tests/a.rs", "#[test]\nfn halves() {}\n#[tokio::test]\nasync fn waits() {}\nfn helper() {}", []string{"halves", "waits"}},
		"Java":       {"ATest.java", "@Test\nvoid adds() {}\n@ParameterizedTest\n@ValueSource(ints = 1)\nvoid many(int n) {}", []string{"adds", "many"}},
		"shell":      {"t/a.sh", "true", nil},
	} {
		if diff := cmp.Diff(tt.want, testfirst.Declared(tt.name, tt.content)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", title, diff)
		}
	}
}

func run(output string, tests ...string) testfirst.Run {
	r := testfirst.Run{Output: output, Tests: map[string]string{}}
	for _, test := range tests {
		name, status, _ := strings.Cut(test, "=")
		r.Tests[name] = status
	}
	return r
}

func code(c *testfirst.Cheat) string {
	if c == nil {
		return ""
	}
	return c.Code
}

func TestCheckNew(t *testing.T) {
	base := run("", "m.TestOld=passed")
	goTest, python := [][]string{{"TestA", "TestB"}}, [][]string{{"test_a"}}
	for title, tt := range map[string]struct {
		declared [][]string
		now      testfirst.Run
		ratio    float64
		tests    []string
		code     string
	}{
		"all fail":              {goTest, run("", "m.TestOld=passed", "m.TestA=failed", "m.TestB=failed", "m.TestB/x=failed"), 0, []string{"m.TestA", "m.TestB", "m.TestB/x"}, ""},
		"does not build":        {goTest, run("./a_test.go:6:5: undefined: A", "m=failed"), 0, []string{"TestA", "TestB"}, ""},
		"broken":                {goTest, run("./a_test.go:6:5: expected ;", "m=failed"), 0, []string{"TestA", "TestB"}, testfirst.CheatBuild},
		"cannot be imported":    {python, run("ModuleNotFoundError: No module named 'a'", "unittest.loader._FailedTest.test_a=failed"), 0, []string{"test_a"}, ""},
		"one passes":            {goTest, run("", "m.TestA=passed", "m.TestB=failed"), 0, []string{"m.TestA", "m.TestB"}, testfirst.CheatPasses},
		"half may pass":         {goTest, run("", "m.TestA=passed", "m.TestB=failed"), 0.5, []string{"m.TestA", "m.TestB"}, ""},
		"skipped":               {goTest, run("", "m.TestA=skipped", "m.TestB=failed"), 0, []string{"m.TestA", "m.TestB"}, testfirst.CheatSkipped},
		"nothing new":           {nil, run("", "m.TestOld=passed"), 0, nil, testfirst.CheatNothing},
		"of an unknown runner":  {nil, run("", "m.TestOld=passed", "t/a.sh=failed"), 0, []string{"t/a.sh"}, ""},
		"with pytest's numbers": {python, run("", "tests/test_a.py::TestA::test_a[1]=failed"), 0, []string{"tests/test_a.py::TestA::test_a[1]"}, ""},
	} {
		tests, cheat := testfirst.CheckNew(tt.declared, base, tt.now, tt.ratio)
		if diff := cmp.Diff(tt.tests, tests); diff != "" || code(cheat) != tt.code {
			t.Errorf("%s: %v\n%s", title, cheat, diff)
		}
	}
}

func TestCheckRan(t *testing.T) {
	base, tests := run("", "m.TestOld=passed", "m.TestSkipped=skipped", "m=failed"), []string{"TestA", "m.TestB/x"}
	for title, tt := range map[string]struct {
		now  testfirst.Run
		code string
	}{
		"all ran":        {run("", "m.TestOld=passed", "m.TestSkipped=skipped", "m.TestA=passed", "m.TestB/x=failed"), ""},
		"one is missing": {run("", "m.TestOld=passed", "m.TestSkipped=skipped", "m.TestA=passed"), testfirst.CheatAbsent},
		"an old one too": {run("", "m.TestSkipped=skipped", "m.TestA=passed", "m.TestB/x=passed"), testfirst.CheatAbsent},
		"one is skipped": {run("", "m.TestOld=passed", "m.TestSkipped=skipped", "m.TestA=skipped", "m.TestB/x=passed"), testfirst.CheatSkipped},
	} {
		if got := testfirst.CheckRan(tests, base, tt.now); code(got) != tt.code {
			t.Errorf("%s: %v", title, got)
		}
	}
	many := make([]string, 7)
	for i := range many {
		many[i] = "Test" + string(rune('A'+i))
	}
	if got := testfirst.CheckRan(many, run(""), run("")); !strings.HasSuffix(got.Message, "TestE and 2 more did not run") {
		t.Error(got)
	}
}

func TestCheckWithoutAndFixed(t *testing.T) {
	if got := testfirst.CheckWithout([]string{"TestA"}, run("", "m.TestA=failed", "m.TestA=failed")); got != nil {
		t.Error(got)
	}
	if got := testfirst.CheckWithout([]string{"TestA"}, run("", "m.TestA=passed")); code(got) != testfirst.CheatPasses {
		t.Error(got)
	}
	got := testfirst.Fixed(run("", "a=failed", "b=passed"), run("", "a=passed", "b=passed", "c=passed", "d=failed"))
	if !slices.Equal(got, []string{"a", "c"}) {
		t.Error(got)
	}
	for code, want := range map[string]bool{"import unittest\n": true, "from calc import x\n": false, "const t = require('node:test')": true, "import (\n\t\"testing\"\n)": true} {
		if testfirst.TouchesFramework("", code) != want || testfirst.TouchesFramework(code, code) {
			t.Error(code)
		}
	}
}

func FuzzTestPart(f *testing.F) {
	f.Add("src/lib.rs", rust)
	f.Add("pyproject.toml", "[tool.pytest]\nx = 1\n")
	f.Add("package.json", `{"scripts": {}}`)
	f.Fuzz(func(t *testing.T, name, content string) {
		files := testfirst.Files{}
		part := files.TestPart(name, content)
		if files.IsTest(name) && part != content {
			t.Errorf("%q: a test is its own part", name)
		}
		if path.Ext(name) == ".rs" && !files.OnlyTests(name, content, content) {
			t.Errorf("%q: an unchanged file has changed code", name)
		}
		for _, declared := range testfirst.Declared(name, content) {
			if !strings.Contains(content, declared) {
				t.Errorf("%q is not in the text", declared)
			}
		}
	})
}
