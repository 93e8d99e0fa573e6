package check

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readReport passes a text to a report, line by line.
func readReport(r report, text string) (results, error) {
	for line := range strings.Lines(text) {
		r.readLine([]byte(line))
	}
	return r.results()
}

// counts is the part of results that the tests compare.
type counts struct {
	Passed, Failed, Skipped int
	FailedNames             []string
	PassedNames             []string
}

// checkCounts reads a text in each of the formats and compares the counts.
func checkCounts(t *testing.T, text string, want counts, formats ...string) {
	t.Helper()
	for _, format := range formats {
		found, err := readReport(newReport(format), text)
		if err != nil {
			t.Fatal(err)
		}
		got := counts{found.passed, found.failed, found.skipped, found.failedNames.listFor(found.failed), found.passedNames.listFor(found.passed)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("as %s (-want +got):\n%s", format, diff)
		}
	}
}

// The reports follow the documentation of their formats.
func TestReports(t *testing.T) {
	tests := []struct {
		name, format, text string
		want               counts
	}{
		{"junit: a suite that claims more than it shows", formatJUnit, `<testsuites failures="2"><testsuite name="s" errors="2"><testcase name="a"/></testsuite></testsuites>`, counts{1, 2, 0, []string{"s", "and 1 more"}, []string{"a"}}},
		{"junit: no tests", formatJUnit, `<testsuites/>`, counts{}},
		{"tap: prove, with little", formatTAP, "1..4\r\nok\r\nnot ok\r\nok 3\r\nnot ok 4\r\n", counts{2, 2, 0, []string{"test", "test 4"}, []string{"test", "test 3"}}},
		{"tap: a plan that was not kept", formatTAP, "1..5\nok 1 a\nnot ok 2 b\n", counts{1, 4, 0, []string{"b", "3 of 5 planned tests did not run", "and 2 more"}, []string{"a"}}},
		{"tap: bailed out", formatTAP, "1..2\nok 1\nBail out! no database\n", counts{1, 2, 0, []string{"Bail out! no database", "1 of 2 planned tests did not run"}, []string{"test 1"}}},
		{"tap: nothing to do", formatTAP, "TAP version 14\n1..0 # SKIP no database\n", counts{}},
		{"tap: words that only begin so", formatTAP, "1..1\nokay\nok: yes\nnot okay\nok 1 done\n", counts{1, 0, 0, nil, []string{"done"}}},
		{"pytest: two runs, one of them long, with workers", formatPytest, "=== test session starts ===\n[gw0] [ 50%] PASSED a.py::test_a \n1 passed, 2 warnings in 0.10s\n== 2 failed, 1 rerun in 3661.00s (1:01:01) ==\n", counts{1, 2, 0, nil, []string{"a.py::test_a"}}},
		{"pytest: brackets that do not match", formatPytest, "= short test summary info =\nFAILED a.py::t[[] - no - not\nERROR a.py::u]] - no\nERROR b.py - c\n3 errors in 1.00s\n", counts{0, 3, 0, []string{"a.py::t[[]", "a.py::u]]", "b.py"}, nil}},
		{"pytest: words that only look so", formatPytest, "=== test session starts ===\n12 passed in no time\n1 passed in 0.1 s\nFAILED a.py::b\n", counts{}},
		{"cargo: a program that ended in the middle", formatCargo, "running 4 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ignored\n\nrunning 1 test\ntest d ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", counts{2, 2, 1, []string{"b", "1 of 4 tests did not end"}, []string{"a", "d"}}},
		{"cargo: the same, quiet", formatCargo, "running 9 tests\n..i. 4/9\na::b --- FAILED\n.\n", counts{4, 4, 1, []string{"a::b", "3 of 9 tests did not end", "and 2 more"}, nil}},
		{"cargo: a result of the tests' own", formatCargo, "running 2 tests\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\ntest result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n", counts{0, 3, 0, nil, nil}},
		{"nothing", formatAuto, "", counts{}},
		{"text of go test", formatAuto, "ok  \tm/a\t0.1s\nFAIL\tm/b\t0.1s\n{\"a\": 1}\n", counts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkCounts(t, tt.text, tt.want, tt.format, formatAuto)
		})
	}
}

// The reports are recorded from go 1.26, pytest 7.2, node 20.20 and cargo 1.95, or shortened from such a recording.
// Some tests of node-spec, node-tap and cargo print lines that look like counts.
func TestRecordedReports(t *testing.T) {
	tests := []struct {
		name, format string
		want         counts
	}{
		{"go-passes", formatGo, counts{2, 0, 1, nil, []string{"m/ok.TestA/x_y", "m/ok.TestA"}}},
		{"go-fails", formatGo, counts{0, 4, 0, []string{"m/bad.TestA/sub", "m/bad.TestA", "m/exits.TestA", "m/nobuild"}, nil}},
		{"go-cut", formatGo, counts{1, 2, 0, []string{"a", "b.TestA"}, []string{"a.TestB"}}},
		{"go-twice", formatGo, counts{0, 2, 0, []string{"p.TestA", "and 1 more"}, nil}},
		{"junit-node", formatJUnit, counts{2, 2, 2, []string{"test.inner bad", "test.fails # hash"}, []string{"test.inner ok", "test.adds"}}},
		{"junit-pytest", formatJUnit, counts{1, 2, 0, []string{"tests.test_a.test_no", "tests.test_b"}, []string{"tests.test_a.test_ok"}}},
		{"junit-maven", formatJUnit, counts{3, 0, 1, nil, []string{"a.OneTest.one", "a.TwoTest.flaky", "a.TwoTest.fine"}}},
		{"tap-node", formatTAP, counts{1, 2, 2, []string{`fails # hash \`, "suite"}, []string{"adds"}}},
		{"node-cancelled", formatNode, counts{1, 3, 1, nil, []string{"a"}}},
		{"pytest", formatPytest, counts{4, 3, 2, []string{"test_a.py::test_no", "test_a.py::test_par[c - d]", "test_a.py::test_err"}, nil}},
		{"pytest-quiet", formatPytest, counts{0, 1, 0, []string{"test_b.py"}, nil}},
		{"pytest-verbose", formatPytest, counts{4, 3, 2, []string{"test_a.py::test_no", "test_a.py::test_par[c - d]", "test_a.py::test_err"}, []string{"test_a.py::test_ok", "test_a.py::test_xpass", "test_a.py::test_par[a b]", "test_a.py::TestC::test_in"}}},
		{"pytest-all", formatPytest, counts{4, 3, 2, []string{"test_a.py::test_err", "test_a.py::test_no", "test_a.py::test_par[c - d]"}, []string{"test_a.py::test_ok", "test_a.py::test_par[a b]", "test_a.py::TestC::test_in", "test_a.py::test_xpass"}}},
		{"pytest-passed", formatPytest, counts{1, 0, 0, nil, nil}},
		{"pytest-none", formatPytest, counts{}},
		{"node-spec", formatNode, counts{3, 2, 2, []string{"fails # hash", "inner bad"}, []string{"adds", "inner ok", "ℹ pass 9"}}},
		{"node-spec-broken", formatNode, counts{1, 1, 0, []string{"/home/dev/js/syn.test.js"}, []string{"fine"}}},
		{"node-tap", formatNode, counts{3, 2, 2, []string{"fails # hash", "inner bad"}, []string{"adds", "inner ok", "ℹ pass 9"}}},
		{"node-passed", formatNode, counts{1, 0, 0, nil, []string{"fine"}}},
		{"cargo", formatCargo, counts{4, 1, 1, []string{"tests::bad"}, []string{"tests::ok", "tests::panics", "outer", "src/lib.rs - add (line 1)"}}},
		{"cargo-quiet", formatCargo, counts{4, 1, 1, []string{"tests::bad"}, nil}},
		{"cargo-nocapture", formatCargo, counts{2, 1, 1, []string{"tests::bad"}, []string{"tests::ok", "tests::panics"}}},
		{"cargo-passed", formatCargo, counts{1, 0, 0, nil, []string{"tests::ok"}}},
		{"unittest", formatUnittest, counts{3, 6, 2, append(slices.Clone(pythonFailed), "test_a.T.test_xpass", "and 1 more"), nil}},
		{"unittest-verbose", formatUnittest, counts{3, 6, 2, append(slices.Clone(pythonFailed), "test_a.T.test_xpass", "and 1 more"), pythonPassed}},
		{"unittest-313", formatUnittest, counts{3, 6, 2, append(slices.Clone(pythonFailed), "test_a.T.test_xpass", "and 1 more"), pythonPassed}},
		{"unittest-38", formatUnittest, counts{3, 6, 2, append(slices.Clone(pythonFailed), "and 2 more"), pythonPassed}},
		{"unittest-import", formatUnittest, counts{0, 1, 0, []string{"unittest.loader._FailedTest.test_b"}, nil}},
		{"unittest-passed", formatUnittest, counts{2, 0, 0, nil, []string{"test_a.T.test_ok", "test_a.T.test_doc"}}},
		{"unittest-none", formatUnittest, counts{}},
		{"unittest-313-none", formatUnittest, counts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/reports/" + tt.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			formats := []string{tt.format, formatAuto}
			if tt.name == "node-tap" {
				formats = formats[:1] // with format auto the report counts as TAP
			}
			checkCounts(t, string(text), tt.want, formats...)
		})
	}
}

// Each test has a status by its name, also a test that does not count. The wanted names have a comma between them.
func TestNames(t *testing.T) {
	for name, tt := range map[string]struct{ format, text, passed, failed, skipped string }{
		"go-passes":        {passed: "m/ok.TestA,m/ok.TestA/x_y", skipped: "m/ok.TestA/z"},
		"go-fails":         {failed: "m/bad.TestA,m/bad.TestA/sub,m/exits.TestA,m/nobuild"},
		"junit-node":       {passed: "test.adds,test.inner ok", failed: "test.fails # hash,test.inner bad", skipped: "test.later,test.skipped"},
		"pytest-verbose":   {passed: "test_a.py::TestC::test_in,test_a.py::test_ok,test_a.py::test_par[a b],test_a.py::test_xpass", failed: "test_a.py::test_err,test_a.py::test_no,test_a.py::test_par[c - d]", skipped: "test_a.py::test_skip,test_a.py::test_xfail"},
		"unittest-verbose": {passed: "test_a.T.test_doc,test_a.T.test_ok,test_a.T.test_print", failed: "test_a.S.setUpClass,test_a.T.test_bad,test_a.T.test_err,test_a.T.test_sub,test_a.T.test_xpass", skipped: "test_a.T.test_skip,test_a.T.test_xfail"},
		"tap-node":         {passed: "adds,inner ok", failed: `fails # hash \,inner bad,suite`, skipped: "later,skipped"},
		"node-spec":        {passed: "adds,inner ok,ℹ pass 9", failed: "fails # hash,inner bad", skipped: "skipped"},
		"node-tap":         {format: formatNode, passed: "adds,inner ok,ℹ pass 9", failed: "fails # hash,inner bad", skipped: "later,skipped"},
		"cargo":            {passed: "outer,src/lib.rs - add,tests::ok,tests::panics", failed: "tests::bad", skipped: "tests::later"},
		"a worse status":   {text: "1..3\nok 1 a\nok 2 a # SKIP\nok 3 a\n", skipped: "a"},
		"a docstring after a failure, and output that looks like a test": {
			text:   "test_a (t.T.test_a) ... FAIL\ntest_b (t.T.test_b)\nDoc. ... skipped 'later'\ntest_c (t.T.test_c) ... \nword (x)\nok\nFAIL: test_a (t.T.test_a)\nRan 3 tests in 0.001s\n\nFAILED (failures=1, skipped=1)\n",
			passed: "t.T.test_c", failed: "t.T.test_a", skipped: "t.T.test_b",
		},
		"pytest with workers, spaces, and -r": {
			text:   "=== test session starts ===\n[gw0] [ 50%] SKIPPED a.py::a \na.py::b[1 2] XFAIL (why) [ 60%]\na.py::c FAILED   [ 70%]\n= short test summary info =\nPASSED a.py::d\nXFAIL a.py::e - why\n1 failed, 1 passed in 0.10s\n",
			passed: "a.py::d", failed: "a.py::c", skipped: "a.py::a,a.py::b[1 2],a.py::e",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.text == "" {
				raw, err := os.ReadFile("testdata/reports/" + name + ".txt")
				if err != nil {
					t.Fatal(err)
				}
				tt.text = string(raw)
			}
			found, err := readReport(newReport(tt.format), tt.text)
			if err != nil {
				t.Fatal(err)
			}
			names := map[string][]string{}
			for _, name := range slices.Sorted(maps.Keys(found.tests)) {
				names[found.tests[name]] = append(names[found.tests[name]], name)
			}
			got := [3]string{strings.Join(names[statusPassed], ","), strings.Join(names[statusFailed], ","), strings.Join(names[statusSkipped], ",")}
			if diff := cmp.Diff([3]string{tt.passed, tt.failed, tt.skipped}, got); diff != "" {
				t.Errorf("passed, failed, skipped (-want +got):\n%s", diff)
			}
		})
	}
}

// A report that cannot be read is an error, not a report without failures.
func TestUnreadableReports(t *testing.T) {
	for _, text := range []string{`<testsuite><testcase name="a"/>`, `<testsuite><testcase></testsuite>`, `<testsuite>&nope;</testsuite>`} {
		if found, err := readReport(&junit{}, text); err == nil {
			t.Errorf("%s: %+v, want an error", text, found)
		}
	}
	j := &junit{text: make([]byte, maxJUnit+1)}
	if _, err := j.results(); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("error %v, want the limit", err)
	}
}

// checkResults checks the invariants of all results.
func checkResults(t *testing.T, r report, text string) {
	found, err := readReport(r, text)
	if err != nil {
		return
	}
	if found.passed < 0 || found.skipped < 0 || found.failed < 0 {
		t.Errorf("%q: %+v", text, found)
	}
	for n, count := range map[*nameList]int{&found.passedNames: found.passed, &found.failedNames: found.failed} {
		if named := n.listFor(count); len(named) > count {
			t.Errorf("%q: %d names of %d tests", text, len(named), count)
		}
		if size := len(strings.Join(n.names, "")); size > maxNames {
			t.Errorf("names of %d bytes", size)
		}
	}
}

func FuzzGoTest(f *testing.F) {
	for _, seed := range []string{"", unescape(goPassed), unescape(goFailed), `{"Action":"run","Package":"p","Test":"T"}`, `{"Action":1}`, "{}", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &goTest{}, text) })
}

func FuzzJest(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"testResults":[{"name":"/d/a.test.js","status":"failed","assertionResults":[]},{"name":"b","assertionResults":[{"ancestorTitles":["x"],"title":"y","status":"todo"}]}]}`, `{"testResults":[{"name":"../\u0000"}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &jest{dir: "/d"}, text) })
}

func FuzzJUnit(f *testing.F) {
	for _, seed := range []string{
		"", `<testsuite/>`, `<testsuites failures="9"><testsuite name="a"><testcase name="b"><failure/></testcase></testsuite></testsuites>`,
		`<testsuite errors="-1"><testcase><skipped type="todo"/><error/></testcase></testsuite>x<testsuite/>`, "<testsuite>\xff", `<testsuite`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &junit{}, text) })
}

func FuzzTAP(f *testing.F) {
	for _, seed := range []string{"", "TAP version 13\n1..2\nok 1 - a # SKIP\nnot ok 2 b\n", "1..99999999999999999999\n", "ok", "not ok # TODO", "Bail out!", "1..0", "not ok 1 - \\# \xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &tap{}, text) })
}

// pythonFailed are the failed tests in the recordings of unittest; two subtests of the last test fail.
var pythonFailed = []string{"test_a.S.setUpClass", "test_a.T.test_err", "test_a.T.test_bad", "test_a.T.test_sub"}

// pythonPassed are the passed tests in the recordings of unittest -v: one has a docstring, one prints.
var pythonPassed = []string{"test_a.T.test_doc", "test_a.T.test_ok", "test_a.T.test_print"}

func FuzzUnittest(f *testing.F) {
	addRecordings(f, formatUnittest)
	for _, seed := range []string{"Ran 1 test in 0.1s\nOK", "a (b) ... ok\nRan 0 tests in 0.000s\n\nFAILED (failures=9)", "FAIL: a (b)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &unittest{}, text) })
}

// addRecordings adds the recorded reports of a format to the seeds of a fuzz test.
func addRecordings(f *testing.F, format string) {
	files, err := filepath.Glob("testdata/reports/" + format + "*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("recordings %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
}

func FuzzCargo(f *testing.F) {
	addRecordings(f, formatCargo)
	for _, seed := range []string{"running 99999999 tests\n.", "failures:\n    a\n", "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &cargo{}, text) })
}

func FuzzNode(f *testing.F) {
	addRecordings(f, formatNode)
	for _, seed := range []string{"ℹ tests 1\nℹ duration_ms 1", "not ok 1\ntype: 'suite'", "✖ failing tests:\n✖ a (1ms)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &nodeTest{}, text) })
}

func FuzzPytest(f *testing.F) {
	addRecordings(f, formatPytest)
	for _, seed := range []string{"1 passed in 0.1s", "= short test summary info =\nFAILED a[ - ]] - b", "a:: PASSED", "99999999 errors, 1 x in 0.0s (1 day, 0:00:01)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, &pytest{}, text) })
}

func FuzzAuto(f *testing.F) {
	for _, format := range []string{formatCargo, formatNode, formatPytest} {
		addRecordings(f, format)
	}
	f.Add("1..1\nok 1\n")
	f.Fuzz(func(t *testing.T, text string) { checkResults(t, newReport(formatAuto), text) })
}
