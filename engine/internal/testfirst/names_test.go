package testfirst

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

const pythonTests = `
@pytest.fixture
def test_client(): pass

@pytest.fixture(scope="module")
async def test_db(): pass

@pytest.mark.parametrize("a", [1])
@pytest.mark.slow
def test_marked(a): pass

class TestA:
    async def test_in(self): pass
    def helper_test(self): pass
# def test_comment(): pass
`

const javaTests = `class ATest {
  @Test void adds() {}
  @Test(timeout = 5) public void slow() throws Exception {}
  @ParameterizedTest @ValueSource(ints = 1)
  void many(int n) {}
  void helper() {}
}`

const rustTestFunctions = `#[test]
fn adds() {}
#[tokio::test]
#[should_panic]
async fn waits() {}
fn helper() { let s = "
#[test]
fn text() {}"; }`

const jsTests = `import { test } from 'node:test'
// it('comment', f)
describe('a', () => { it("doesn't", f)
  await test('it\'s "b"', f) })
test(` + "`c`" + `, f); if (/x/.test('d')) g(); test.skip('e', f); it(` + "`f${1}`" + `, f)`

func TestDeclared(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		want    []string
	}{
		"a_test.go": {"package a\nconst s = `\nfunc TestText(t *testing.T) {}\n`\nfunc TestA(t *testing.T) {}\nfunc Testable(t *testing.T) {}\nfunc Test_b(t *testing.T) {}\nfunc TestHelper(t *testing.T, n int) {}\nfunc (s S) TestMethod() {}\nfunc FuzzC(f *testing.F) {}\nfunc BenchmarkD(b *testing.B) {}\nfunc TestMain(m *testing.M) {}\n" +
			"func ExampleE() {\n\t// Output: e\n}\nfunc ExampleF() {\n\t// Output:\n}\nfunc ExampleG() {}\n", []string{"TestA", "Test_b", "FuzzC", "ExampleE", "ExampleF"}},
		"fault_test.go": {"package a\nfunc TestA(t *testing.T) { this is not Go }\n", []string{"TestA"}},
		"text_test.go":  {"", nil},
		"test_a.py":     {pythonTests, []string{"test_marked", "test_in"}},
		"conftest.py":   {pythonTests, nil},
		"a.rs":          {rustTestFunctions, []string{"adds", "waits"}},
		"ATest.java":    {javaTests, []string{"adds", "slow", "many"}},
		"ATest.kt":      {"@Test fun adds() {}\n@Test\nfun `two words`() {}\nfun helper() {}", []string{"adds", "two words"}},
		"a.test.mjs":    {jsTests, []string{"doesn't", `it's "b"`, "c"}},
		"a.txt":         {jsTests, nil},
	} {
		t.Run(name, func(t *testing.T) { testkit.Equal(t, tt.want, Declared(name, tt.content)) })
	}
}

// FuzzDeclared reads any file: each name is a part of it.
func FuzzDeclared(f *testing.F) {
	for _, content := range []string{pythonTests, javaTests, rustTestFunctions, jsTests, "package a\nfunc TestA(t T) {", "package a\nfunc Example() {\n// Output:\n}"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, file := range []string{"a_test.go", "a.py", "a.rs", "a.java", "a.kt", "a.ts"} {
			for _, name := range Declared(file, content) {
				if name == "" || !strings.Contains(strings.ReplaceAll(content, `\`, ""), strings.ReplaceAll(name, `\`, "")) || !isTest("x."+name+"[1]", name) {
					t.Errorf("%s declares %q", file, name)
				}
			}
		}
	})
}

func TestIsDeclared(t *testing.T) {
	for declared, printed := range map[string]map[string]bool{
		"TestA":      {"m/a.TestA": true, "TestA": true, "m.TestA/sub": false, "m.XTestA": false, "m.TestAB": false, "m.TestAB.TestA": true},
		"test_a":     {"t/a.py::test_a": true, "a.py::T::test_a[x.test_b-1]": true, "t.T.test_a": true, "unittest.loader._FailedTest.test_a": false, "test_a.py::test_b": false},
		"adds":       {"tests::adds": true, "tests::adds::case_1": true, "adds": true, "tests::adds_more": false, "a.ATest.adds()": true, "a.ATest.adds(int)[1]": true, "test.adds": true, "src/a.test.js > math > adds": true, "adds (more)": false},
		"has [a]":    {"has [a]": true, "suite has [a]": true, "has": false},
		"src/lib.rs": {"src/lib.rs - add": false},
		"":           {"a": false},
	} {
		for printed, want := range printed {
			if got := isTest(printed, declared); got != want {
				t.Errorf("%s is %s: %v, want %v", printed, declared, got, want)
			}
		}
	}
}

func TestTouchesFramework(t *testing.T) {
	const honest = "import os\nfrom app import testing\nassert n == 1\nconst assert = require('assert')\nassert.equal(a, b)\nimport unittests\n"
	for _, text := range []string{"import unittest", "  from unittest.mock import patch", "import os, unittest as u", "import pytest", `__import__("unittest")`, `import { it } from "node:test"`, "import (\n\t\"testing\"\n)", "assert.strictEqual = () => {}"} {
		if !TouchesFramework(honest, honest+text+"\n") || TouchesFramework(text, honest+text) {
			t.Errorf("%q is no framework, or was none before", text)
		}
	}
	if TouchesFramework("", honest) {
		t.Error("honest code touches a framework")
	}
}
