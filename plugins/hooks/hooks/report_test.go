package hooks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read gives a text to a report, line by line.
func read(r report, text string) (results, error) {
	for line := range strings.Lines(text) {
		r.line([]byte(line))
	}
	return r.results()
}

// counted is what tests compare of results.
type counted struct {
	Passed, Failed, Skipped int
	Names                   []string
}

// What test runners print: go 1.26 and node 20 as they did, the others as their documents say.
func TestReports(t *testing.T) {
	tests := []struct {
		name, format, text string
		want               counted
	}{
		{"go: passes, a subtest, a skip and a benchmark", formatGo, `{"Action":"start","Package":"m/ok"}
{"Action":"run","Package":"m/ok","Test":"TestA"}
{"Action":"output","Package":"m/ok","Test":"TestA","Output":"{\"Action\":\"fail\",\"Package\":\"m/ok\",\"Test\":\"TestA\"}\n"}
{"Action":"run","Package":"m/ok","Test":"TestA/x_y"}
{"Action":"pass","Package":"m/ok","Test":"TestA/x_y","Elapsed":0}
{"Action":"run","Package":"m/ok","Test":"TestA/z"}
{"Action":"skip","Package":"m/ok","Test":"TestA/z","Elapsed":0}
{"Action":"pass","Package":"m/ok","Test":"TestA","Elapsed":0}
{"Action":"run","Package":"m/ok","Test":"BenchmarkB"}
{"Action":"output","Package":"m/ok","Output":"ok  \tm/ok\t0.009s\n"}
{"Action":"pass","Package":"m/ok","Elapsed":0.01}
{"Action":"start","Package":"m/none"}
{"Action":"skip","Package":"m/none","Elapsed":0}
`, counted{2, 0, 1, nil}},
		{"go: failures, a panic, an exit and what does not build", formatGo, `go: downloading something
{"ImportPath":"m/nobuild [m/nobuild.test]","Action":"build-output","Output":"undefined: undefined\n"}
{"ImportPath":"m/nobuild [m/nobuild.test]","Action":"build-fail"}
{"Action":"start","Package":"m/bad"}
{"Action":"run","Package":"m/bad","Test":"TestA"}
{"Action":"run","Package":"m/bad","Test":"TestA/sub"}
{"Action":"fail","Package":"m/bad","Test":"TestA/sub","Elapsed":0}
{"Action":"fail","Package":"m/bad","Test":"TestA","Elapsed":0}
{"Action":"fail","Package":"m/bad","Elapsed":0.012}
{"Action":"start","Package":"m/exits"}
{"Action":"run","Package":"m/exits","Test":"TestA"}
{"Action":"fail","Package":"m/exits","Elapsed":0.004}
{"Action":"start","Package":"m/nobuild"}
{"Action":"fail","Package":"m/nobuild","Elapsed":0,"FailedBuild":"m/nobuild [m/nobuild.test]"}
`, counted{0, 4, 0, []string{"m/bad.TestA/sub", "m/bad.TestA", "m/exits.TestA", "m/nobuild"}}},
		{"go: a stream that was cut", formatGo, `{"Action":"start","Package":"b"}
{"Action":"run","Package":"b","Test":"TestA"}
{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestB"}
{"Action":"pass","Package":"a","Test":"TestB"}
{"Action":"pa`, counted{1, 2, 0, []string{"a", "b.TestA"}}},
		{"go: the same tests twice", formatGo, `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`, counted{0, 2, 0, []string{"p.TestA", "and 1 more"}}},

		{"junit: node", formatJUnit, `<?xml version="1.0" encoding="utf-8"?>
<testsuites>
	<testcase name="adds" time="0.001029" classname="test"/>
	<testcase name="fails # hash" time="0.000222" classname="test" failure="no">
		<failure type="testCodeFailure" message="no">[Error: &lt;no>]</failure>
	</testcase>
	<testcase name="skipped" classname="test"><skipped type="skipped" message="true"/></testcase>
	<testsuite name="suite" disabled="0" errors="0" tests="3" failures="2" skipped="0" hostname="vm">
		<testcase name="inner ok" classname="test"/>
		<testcase name="later" classname="test" failure="x"><skipped type="todo" message="true"/><failure message="x"/></testcase>
		<testcase name="inner bad" classname="test" failure="b"><failure message="b">b</failure></testcase>
	</testsuite>
</testsuites>
`, counted{2, 2, 2, []string{"test.inner bad", "test.fails # hash"}}},
		{"junit: pytest, with lines around it", formatJUnit, `collected 3 items
<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="0" tests="3"><testcase classname="tests.test_a" name="test_ok" time="0.001" /><testcase classname="tests.test_a" name="test_no" time="0.001"><failure message="assert 1 == 2">E assert</failure></testcase><testcase classname="" name="tests.test_b" time="0.000"><error message="collection failure">ImportError</error></testcase></testsuite></testsuites>
generated xml & more <b>
`, counted{1, 2, 0, []string{"tests.test_a.test_no", "tests.test_b"}}},
		{"junit: two files of Maven", formatJUnit, `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="a.OneTest" tests="2" errors="0" skipped="1" failures="0">
  <properties><property name="x" value="y"/></properties>
  <testcase name="one" classname="a.OneTest" time="0"/>
  <testcase name="two" classname="a.OneTest" time="0"><skipped message="later"/></testcase>
</testsuite><?xml version="1.0" encoding="UTF-8"?>
<testsuite name="a.TwoTest" tests="2" errors="0" skipped="0" failures="0">
  <testcase name="flaky" classname="a.TwoTest"><flakyFailure message="once"/></testcase>
  <testcase name="fine" classname="a.TwoTest"><system-out><![CDATA[<testsuite> & not ok 1]]></system-out></testcase>
</testsuite>
`, counted{3, 0, 1, nil}},
		{"junit: a suite that claims more than it shows", formatJUnit, `<testsuites failures="2"><testsuite name="s" errors="2"><testcase name="a"/></testsuite></testsuites>`, counted{1, 2, 0, []string{"s", "and 1 more"}}},
		{"junit: no tests", formatJUnit, `<testsuites/>`, counted{}},

		{"tap: node", formatTAP, `TAP version 13
# Subtest: adds
ok 1 - adds
  ---
  duration_ms: 1.0
  ...
not ok 2 - fails \# hash \\
  ---
  error: 'not ok 9 - no'
  ...
ok 3 - skipped # SKIP
not ok 4 - later # TODO
# Subtest: suite
    ok 1 - inner ok
    not ok 2 - inner bad
    1..2
not ok 5 - suite
1..5
# tests 6
`, counted{1, 2, 2, []string{`fails # hash \`, "suite"}}},
		{"tap: prove, with little", formatTAP, "1..4\r\nok\r\nnot ok\r\nok 3\r\nnot ok 4\r\n", counted{2, 2, 0, []string{"test", "test 4"}}},
		{"tap: a plan that was not kept", formatTAP, "1..5\nok 1 a\nnot ok 2 b\n", counted{1, 4, 0, []string{"b", "3 of 5 planned tests did not run", "and 2 more"}}},
		{"tap: bailed out", formatTAP, "1..2\nok 1\nBail out! no database\n", counted{1, 2, 0, []string{"Bail out! no database", "1 of 2 planned tests did not run"}}},
		{"tap: nothing to do", formatTAP, "TAP version 14\n1..0 # SKIP no database\n", counted{}},
		{"tap: words that only begin so", formatTAP, "1..1\nokay\nok: yes\nnot okay\nok 1 done\n", counted{1, 0, 0, nil}},

		{"nothing", formatAuto, "", counted{}},
		{"text of go test", formatAuto, "ok  \tm/a\t0.1s\nFAIL\tm/b\t0.1s\n{\"a\": 1}\n", counted{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, format := range []string{tt.format, formatAuto} {
				found, err := read(newReport(format), tt.text)
				if err != nil {
					t.Fatal(err)
				}
				got := counted{found.passed, found.failed, found.skipped, found.names()}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("as %s (-want +got):\n%s", format, diff)
				}
			}
		})
	}
}

// A report that cannot be read is an error, not a report without failures.
func TestUnreadableReports(t *testing.T) {
	for _, text := range []string{`<testsuite><testcase name="a"/>`, `<testsuite><testcase></testsuite>`, `<testsuite>&nope;</testsuite>`} {
		if found, err := read(&junit{}, text); err == nil {
			t.Errorf("%s: %+v, want an error", text, found)
		}
	}
	j := &junit{text: make([]byte, maxJUnit+1)}
	if _, err := j.results(); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("error %v, want the limit", err)
	}
}

// sound holds what is true of all results.
func sound(t *testing.T, r report, text string) {
	found, err := read(r, text)
	if err != nil {
		return
	}
	if found.passed < 0 || found.skipped < 0 || found.failed < len(found.failures) {
		t.Errorf("%q: %+v", text, found)
	}
	if size := len(strings.Join(found.failures, "")); size > maxNames {
		t.Errorf("names of %d bytes", size)
	}
}

func FuzzGoTest(f *testing.F) {
	for _, seed := range []string{"", unescape(goPassed), unescape(goFailed), `{"Action":"run","Package":"p","Test":"T"}`, `{"Action":1}`, "{}", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, &goTest{}, text) })
}

func FuzzJUnit(f *testing.F) {
	for _, seed := range []string{
		"", `<testsuite/>`, `<testsuites failures="9"><testsuite name="a"><testcase name="b"><failure/></testcase></testsuite></testsuites>`,
		`<testsuite errors="-1"><testcase><skipped type="todo"/><error/></testcase></testsuite>x<testsuite/>`, "<testsuite>\xff", `<testsuite`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, &junit{}, text) })
}

func FuzzTAP(f *testing.F) {
	for _, seed := range []string{"", "TAP version 13\n1..2\nok 1 - a # SKIP\nnot ok 2 b\n", "1..99999999999999999999\n", "ok", "not ok # TODO", "Bail out!", "1..0", "not ok 1 - \\# \xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, &tap{}, text) })
}
