package testfirst

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// testRun returns a run from words such as m.TestA=passed, and its output.
func testRun(words, output string) Run {
	r := Run{Tests: map[string]string{}, Output: output}
	for word := range strings.FieldsSeq(words) {
		name, status, _ := strings.Cut(word, "=")
		r.Tests[name] = status
	}
	return r
}

func code(c *Cheat) string {
	if c == nil {
		return ""
	}
	return c.Code
}

func TestRed(t *testing.T) {
	const missing = "a_test.go:5:5: undefined: Double"
	for name, tt := range map[string]struct {
		declared          []Declaration
		base, now, output string
		ratio             float64
		want, code        string // the new tests, with a space between them
	}{
		"a new test fails":                       {declared: []Declaration{{Now: []string{"TestB"}}}, base: "m.TestA=passed", now: "m.TestA=passed m.TestB=failed m.TestB/x=failed", want: "m.TestB m.TestB/x"},
		"a new test passes":                      {declared: []Declaration{{Now: []string{"TestB"}}}, now: "m.TestB=passed", want: "m.TestB", code: CheatPasses},
		"half of them may pass":                  {declared: []Declaration{{Now: []string{"TestB", "TestC"}}}, now: "m.TestB=passed m.TestC=failed", ratio: 0.5, want: "m.TestB m.TestC"},
		"a new test is skipped":                  {declared: []Declaration{{Now: []string{"TestB"}}}, now: "m.TestB=skipped", want: "m.TestB", code: CheatSkipped},
		"no test is new":                         {declared: []Declaration{{Now: []string{"TestA"}, Before: []string{"TestA"}}}, base: "m.TestA=passed", now: "m.TestA=passed", code: CheatNothing},
		"nothing ran":                            {code: CheatNothing},
		"a language that is not known":           {base: "a=passed b=passed", now: "a=passed b=failed c=failed", want: "c"},
		"a name that no changed file declares":   {declared: []Declaration{{Now: []string{"TestB"}}}, now: "m.TestB=failed m.TestOther=failed", want: "m.TestB"},
		"an existing test is stricter":           {declared: []Declaration{{Now: []string{"TestA"}, Before: []string{"TestA"}}}, base: "m.TestA=passed", now: "m.TestA=failed", want: "m.TestA"},
		"a file that does not build":             {declared: []Declaration{{Now: []string{"TestA", "TestB"}, Before: []string{"TestA"}}}, base: "m.TestA=passed", now: "m=failed", output: missing, want: "TestB"},
		"a table with a new line does not build": {declared: []Declaration{{Now: []string{"TestA"}, Before: []string{"TestA"}}}, base: "m.TestA=passed n.TestA=passed", now: "m=failed n.TestA=passed", output: missing, want: "m.TestA"},
		"another package has a test of the name": {declared: []Declaration{{Now: []string{"TestNew"}}}, base: "m/a.TestNew=passed", now: "m/a.TestNew=passed m/b=failed", output: missing, want: "TestNew"},
		"another file has a title of the name":   {declared: []Declaration{{Now: []string{"adds"}}}, base: "adds=passed", now: "adds=passed b.test.js=failed", output: "Cannot find module './b'", want: "adds"},
		"a fault of syntax":                      {declared: []Declaration{{Now: []string{"test_b"}}}, now: "unittest.loader._FailedTest.test_b=failed", output: "SyntaxError: '(' was never closed", want: "test_b", code: CheatBuild},
		"one of two files does not build":        {declared: []Declaration{{Now: []string{"test_a"}}, {Now: []string{"test_b"}}}, now: "a.py::test_a=failed b.py=failed", output: "E   ModuleNotFoundError: No module named 'b'", want: "a.py::test_a test_b"},
	} {
		t.Run(name, func(t *testing.T) {
			tests, c := CheckNew(tt.declared, testRun(tt.base, ""), testRun(tt.now, tt.output), tt.ratio)
			testkit.Equal(t, tt.want, strings.Join(tests, " "))
			testkit.Equal(t, tt.code, code(c))
		})
	}
}

func TestSame(t *testing.T) {
	for name, tt := range map[string]struct{ tests, base, now, code, message string }{
		"all ran, one fails":                      {tests: "TestB", base: "m.TestA=passed", now: "m.TestA=failed m.TestB=passed"},
		"a new test is absent":                    {tests: "TestB", base: "m.TestA=passed", now: "m.TestA=passed", code: CheatAbsent, message: "TestB did not run"},
		"another package has a test of the name":  {tests: "TestNew", base: "m/a.TestNew=passed", now: "m/a.TestNew=passed", code: CheatAbsent, message: "TestNew did not run"},
		"another package skips one of the name":   {tests: "TestNew", base: "m/a.TestNew=skipped", now: "m/a.TestNew=skipped m/b.TestNew=passed"},
		"a test of before is absent":              {base: "a=passed b=passed c=passed d=passed e=passed f=passed", code: CheatAbsent, message: "a, b, c, d, e and 1 more did not run"},
		"a subtest with another port":             {base: "m/x.TestA=passed m/x.TestA/:8080=passed a.py::t[0x1]=passed", now: "m/x.TestA=passed m/x.TestA/:8081=passed a.py::t[0x2]=passed"},
		"all subtests are absent":                 {base: "m/x.TestA=passed m/x.TestA/a=passed", now: "m/x.TestA=passed", code: CheatAbsent, message: "m/x.TestA/a did not run"},
		"a new subtest is absent":                 {tests: "m.TestA/a m.TestA/b", now: "m.TestA/a=passed", code: CheatAbsent, message: "m.TestA/b did not run"},
		"a test is skipped":                       {tests: "TestB", base: "m.TestA=passed", now: "m.TestA=skipped m.TestB=skipped", code: CheatSkipped, message: "TestB, m.TestA is skipped"},
		"a case of a Rust test is skipped":        {tests: "adds", now: "t::adds::a=passed t::adds::b=skipped", code: CheatSkipped, message: "adds is skipped"},
		"a test was skipped before":               {base: "m.TestA=skipped", now: "m.TestA=skipped"},
		"a package that did not build builds now": {base: "m/b=failed", now: ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := CheckRan(strings.Fields(tt.tests), testRun(tt.base, ""), testRun(tt.now, ""))
			testkit.Equal(t, tt.code, code(c))
			if c != nil {
				testkit.Equal(t, tt.message, c.Message)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	for name, tt := range map[string]struct {
		tests, base, before string
		some                bool
		want, code          string // the tests that do not pass
	}{
		"all fail, or do not build":     {tests: "m.TestA TestB", before: "m.TestA=failed", want: "m.TestA TestB"},
		"one passes":                    {tests: "m.TestA TestB", before: "m.TestA=failed m.TestB=passed", want: "m.TestA", code: CheatPasses},
		"one of a fix passes":           {tests: "m.TestA m.TestB", before: "m.TestA=failed m.TestB=passed", some: true, want: "m.TestA"},
		"all of a fix pass":             {tests: "m.TestA", before: "m.TestA=passed", some: true, code: CheatPasses},
		"another test of the base does": {tests: "adds TestNew", base: "adds=passed m/a.TestNew=passed", before: "adds=passed m/a.TestNew=passed", want: "TestNew"},
	} {
		t.Run(name, func(t *testing.T) {
			failing, c := CheckWithout(strings.Fields(tt.tests), testRun(tt.base, ""), testRun(tt.before, ""), tt.some)
			testkit.Equal(t, tt.want, strings.Join(failing, " "))
			testkit.Equal(t, tt.code, code(c))
		})
	}
}

func TestFixed(t *testing.T) {
	got := Fixed(testRun("a=failed b=passed c=skipped d=failed", ""), testRun("a=passed b=passed c=passed d=failed e=passed f=skipped", ""))
	testkit.Equal(t, []string{"a", "c", "e"}, got)
}
