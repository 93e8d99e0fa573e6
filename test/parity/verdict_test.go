package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	list := listed("# why\n\nFAIL b: x: want 1 got 2\nFAIL b: y: want 3 got 4\n")
	for name, test := range map[string]struct {
		report      string
		exit, cases int
		want        verdict
		fault       string // part of the error
	}{
		"all pass": {report: "PASS a\nPASS b\n2 passed, 0 failed\n", cases: 2, want: verdict{count: "2 passed, 0 failed", silent: list}},
		"disputed": {
			report: "PASS a\nFAIL b: x: want 1 got 2\nFAIL b: y: want 3 got 4\n1 passed, 1 failed\n", exit: 1, cases: 2,
			want: verdict{count: "1 passed, 1 failed", disputed: list},
		},
		"one of them": {
			report: "PASS a\nFAIL b: x: want 1 got 2\n1 passed, 1 failed\n", exit: 1, cases: 2,
			want: verdict{count: "1 passed, 1 failed", disputed: list[:1], silent: list[1:]},
		},
		"one more of the same case": {
			report: "PASS a\nFAIL b: x: want 1 got 2\nFAIL b: and 2 more (-v shows them)\n1 passed, 1 failed\n", exit: 1, cases: 2,
			want: verdict{
				count: "1 passed, 1 failed", disputed: list[:1], silent: list[1:],
				undisputed: []string{"FAIL b: and 2 more (-v shows them)"},
			},
		},
		"only a part of a listed line": {
			report: "FAIL b: x: want 1 got 23\n0 passed, 1 failed\n", exit: 1, cases: 1,
			want: verdict{count: "0 passed, 1 failed", silent: list, undisputed: []string{"FAIL b: x: want 1 got 23"}},
		},
		"another case": {
			report: "FAIL a: x: want 1 got 2\nPASS b\n1 passed, 1 failed\n", exit: 1, cases: 2,
			want: verdict{count: "1 passed, 1 failed", silent: list, undisputed: []string{"FAIL a: x: want 1 got 2"}},
		},
		"nothing":                {fault: `ends with ""`},
		"crashed at once":        {exit: 1, cases: 2, report: "Traceback (most recent call last):\n", fault: "ends with \"Traceback"},
		"crashed meanwhile":      {exit: 1, cases: 2, report: "PASS a\n", fault: `ends with "PASS a"`},
		"no case":                {report: "0 passed, 0 failed\n", fault: "0 cases of 0"},
		"no verdict on a case":   {report: "PASS a\n1 passed, 0 failed\n", cases: 2, fault: "1 cases of 2"},
		"a count of its own":     {report: "PASS a\n2 passed, 0 failed\n", cases: 2, fault: `its lines are "1 passed, 0 failed"`},
		"passed and failed":      {report: "PASS a\nFAIL a: x\n1 passed, 0 failed\n", cases: 1, fault: "a both passed and failed"},
		"killed":                 {report: "PASS a\n1 passed, 0 failed\n", exit: -1, cases: 1, fault: "exited with -1, want 0"},
		"wrong usage":            {report: "PASS a\n1 passed, 0 failed\n", exit: 2, cases: 1, fault: "exited with 2, want 0"},
		"failures, and exit 0":   {report: "FAIL a: x\n0 passed, 1 failed\n", cases: 1, fault: "exited with 0, want 1"},
		"no failure, and exit 1": {report: "PASS a\n1 passed, 0 failed\n", exit: 1, cases: 1, fault: "exited with 1, want 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := judge(test.report, test.exit, test.cases, list)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("got %v, want an error with %s", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A referee is any program: here the shell plays it.
func TestRun(t *testing.T) {
	cases := t.TempDir()
	if err := os.Mkdir(filepath.Join(cases, "recompile-and-rerun"), 0o700); err != nil {
		t.Fatal(err)
	}
	known := listed(disputed)
	for name, test := range map[string]struct {
		script string
		fault  string // part of the error, "" for none
		last   string // last line of the output
	}{
		"disputed":  {"printf '%s\\n' \"$@\" '0 passed, 1 failed'; exit 1", "", "0 passed, 1 failed"},
		"unlisted":  {"echo 'FAIL recompile-and-rerun: new'; echo '0 passed, 1 failed'; exit 1", "1 lines of FAIL", "0 passed, 1 failed"},
		"crash":     {"echo 'PASS recompile-and-rerun'; kill -9 $$", "cannot be trusted", "PASS recompile-and-rerun"},
		"all right": {"echo 'PASS recompile-and-rerun'; echo '1 passed, 0 failed'", "", "1 passed, 0 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(cases, append([]string{"sh", "-c", test.script, "referee"}, known...), &out)
			if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
				t.Errorf("got %v, want an error with %q", err, test.fault)
			}
			if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); lines[len(lines)-1] != test.last {
				t.Errorf("the last line is not %q:\n%s", test.last, &out)
			}
		})
	}
}

// A disputed line is of a case, so that nothing else can be hidden in the list.
func TestDisputedLinesAreFailures(t *testing.T) {
	for _, line := range listed(disputed) {
		if !strings.HasPrefix(line, "FAIL ") || !strings.Contains(line, ": want ") {
			t.Errorf("disputed.txt: %q is not a whole line of the referee", line)
		}
	}
}
