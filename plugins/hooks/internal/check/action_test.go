package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	goPassed = `{"Action":"run","Package":"p","Test":"TestA"}\n{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS\\n"}\n{"Action":"pass","Package":"p","Test":"TestA"}\n{"Action":"pass","Package":"p"}\n`
	goFailed = `{"Action":"run","Package":"p","Test":"TestB"}\n{"Action":"output","Package":"p","Test":"TestB","Output":"b_test.go:7: no\\n"}\n{"Action":"fail","Package":"p","Test":"TestB"}\n{"Action":"fail","Package":"p"}\n`
)

// goMany holds a test with a failed subtest, a passed test, a package that does not build, and a test of another
// module.
const goMany = `{"Action":"run","Package":"example.com/m","Test":"TestNew"}
{"Action":"run","Package":"example.com/m","Test":"TestNew/a"}
{"Action":"output","Package":"example.com/m","Test":"TestNew/a","Output":"--- FAIL\n"}
{"Action":"fail","Package":"example.com/m","Test":"TestNew/a"}
{"Action":"pass","Package":"example.com/m","Test":"TestOld"}
{"Action":"fail","Package":"example.com/m"}
{"Action":"fail","Package":"example.com/m/sub"}
{"Action":"pass","Package":"example.com/other","Test":"TestNew"}
{"Action":"pass","Package":"example.com/other"}
`

// runCheck runs a check and returns its facts; the answer's outcome must agree with them.
func runCheck(t *testing.T, req sdk.HookRequest) (Facts, error) {
	t.Helper()
	answer, err := (&Action{firingtest.Runner(t)}).Run(t.Context(), req)
	if err != nil {
		if diff := cmp.Diff(sdk.HookAnswer{}, answer); diff != "" {
			t.Errorf("%v beside an answer:\n%s", err, diff)
		}
		return Facts{}, err
	}
	var facts Facts
	if err := json.Unmarshal(answer.Facts, &facts); err != nil {
		t.Fatal(err)
	}
	if answer.Action != sdk.ActionContinue || (answer.Outcome == "fail") == facts.Passed || (facts.Reason == "") != facts.Passed {
		t.Errorf("answer %s %q with facts %s", answer.Action, answer.Outcome, answer.Facts)
	}
	return facts, nil
}

func exitCode(n int) *int { return &n }

func fileCount(files int) map[string]int { return map[string]int{"files": files} }

func testCounts(passed, failed, skipped int) map[string]int {
	return map[string]int{"passed": passed, "failed": failed, "skipped": skipped}
}

// A check returns the measurement as facts.
func TestCheck(t *testing.T) {
	files := map[string]string{
		"a.txt": "one\ntwo\n", "b.txt": "three\n", "sub/c.go": "package c\n",
		"mod/go.mod": "module example.com/m // it\n", "mod/new_test.go": "package m\nfunc TestNew(", "mod/old_test.go": "package m\nfunc TestOld(t *testing.T) {}\n",
		"mod/empty_test.go": "package m\n", "mod/sub/deep_test.go": "package sub_test\nfunc TestDeep(t *testing.T) {}\n", "many.json": goMany,
		"passed.json": unescape(goPassed), "failed.json": unescape(goFailed),
	}
	tests := []struct {
		name, config string
		want         Facts
	}{
		{"a file", `{"type": "file", "path": "./a.txt"}`, Facts{Passed: true, Counts: fileCount(1)}},
		{"files", `{"type": "file", "path": "*.txt"}`, Facts{Passed: true, Counts: fileCount(2)}},
		{"files of directories", `{"type": "file", "path": "s*/*.go"}`, Facts{Passed: true, Counts: fileCount(1)}},
		{"a directory", `{"type": "file", "path": "sub"}`, Facts{Passed: true, Counts: fileCount(1)}},
		{"no file", `{"type": "file", "path": "gone/*.txt"}`, Facts{Reason: "there is no file gone/*.txt", Counts: fileCount(0)}},
		{"no file below a file", `{"type": "file", "path": "a.txt/x"}`, Facts{Reason: "there is no file a.txt/x", Counts: fileCount(0)}},
		{"a file that should not be", `{"type": "file", "path": "a.txt", "exists": false}`, Facts{Reason: "there is a file a.txt", Counts: fileCount(1)}},
		{"no file as expected", `{"type": "file", "path": "z.txt", "exists": false}`, Facts{Passed: true, Counts: fileCount(0)}},

		{"a text", `{"type": "content", "path": "*.txt", "contains": "hre"}`, Facts{Passed: true, Counts: fileCount(1)}},
		{"no text", `{"type": "content", "path": "*", "contains": "four"}`, Facts{Reason: `* does not contain "four"`, Counts: fileCount(0)}},
		{"a pattern", `{"type": "content", "path": "a.txt", "matches": "(?m)^two$"}`, Facts{Passed: true, Counts: fileCount(1)}},
		{"no pattern", `{"type": "content", "path": "a.txt", "matches": "^two$"}`, Facts{Reason: "nothing in a.txt matches ^two$", Counts: fileCount(0)}},
		{"no file with it", `{"type": "content", "path": "z", "contains": "x"}`, Facts{Reason: "there is no file z", Counts: fileCount(0)}},

		{"a command", `{"type": "command", "command": "test -f a.txt && echo $AGENT_PIPELINES_NODE"}`, Facts{Passed: true, ExitCode: exitCode(0), Output: "build"}},
		{"a command that fails", `{"type": "command", "command": "printf '\\033[31mred\\033[0m\\n'; exit 3"}`, Facts{Reason: "the command of the check exited with code 3: red", ExitCode: exitCode(3), Output: "red"}},
		{"a command that is killed", `{"type": "command", "command": "kill -9 $$"}`, Facts{Reason: "the command of the check was ended by signal 9 (killed)", ExitCode: exitCode(-1)}},
		{"alias file_exists", `{"type": "file_exists", "path": "a.txt"}`, Facts{Type: "file", Passed: true, Counts: fileCount(1)}},
		{"alias file_content", `{"type": "file_content", "path": "a.txt", "contains": "one"}`, Facts{Type: "content", Passed: true, Counts: fileCount(1)}},
		{"alias run", `{"type": "command", "run": "echo a"}`, Facts{Passed: true, ExitCode: exitCode(0), Output: "a"}},
		{"files behind a command", `{"type": "command", "run": "printf '<%s>' cat ", "files": ["a.txt", "sub/c.go", "-n", "$(id); x", "@y", "it's", ".env", "é b"]}`, Facts{Passed: true, ExitCode: exitCode(0), Output: "<cat><a.txt><sub/c.go><./-n><./$(id); x><./@y><it's><.env><é b>"}},
		{"files where the command wants them", `{"type": "command", "command": "wc -l \"$@\" | tail -1; exit 3", "files": ["a.txt", "b.txt"]}`, Facts{Reason: "the command of the check exited with code 3: 3 total", ExitCode: exitCode(3), Output: "3 total"}},
		{"tests of files", `{"type": "tests", "run": "cat", "files": ["passed.json"]}`, Facts{Passed: true, ExitCode: exitCode(0), Counts: testCounts(1, 0, 0), PassedTests: []string{"p.TestA"}, Output: "--- PASS"}},
		{"tests of a file that is not there", `{"type": "tests", "run": "cat 2>/dev/null", "files": ["gone/x_test.py::test_a"]}`, Facts{Reason: "the command of the check exited with code 1", ExitCode: exitCode(1), Counts: testCounts(0, 0, 0)}},
		{"go test takes packages: of its tests those of the files count", `{"type": "tests", "run": "cat many.json; : go test -json ./...", "files": ["mod/new_test.go", "mod/sub/deep_test.go"], "expect": "none_pass"}`, Facts{Passed: true, ExitCode: exitCode(0), Counts: testCounts(0, 3, 0), Failed: []string{"example.com/m.TestNew/a", "example.com/m.TestNew", "example.com/m/sub"}, Output: "--- FAIL"}},
		{"one of them passes", `{"type": "tests", "run": "cat many.json; : go test -json ./...", "files": ["mod/old_test.go"], "expect": "none_pass"}`, Facts{Reason: "1 of 1 tests passed, none should", ExitCode: exitCode(0), Counts: testCounts(1, 0, 0), PassedTests: []string{"example.com/m.TestOld"}, Output: "--- FAIL"}},
		{"none of them is run", `{"type": "tests", "run": "cat many.json; : go test -json ./...", "files": ["mod/empty_test.go"], "expect": "none_pass"}`, Facts{Reason: "no test ran, at least one must fail", ExitCode: exitCode(0), Counts: testCounts(0, 0, 0), Output: "--- FAIL"}},
		{"Python's unittest reports to stderr", `{"type": "tests", "run": "printf 'test_a (t.T.test_a) ... ok\\n\\nRan 1 test in 0.001s\\n\\nOK\\n' >&2"}`, Facts{Passed: true, ExitCode: exitCode(0), Counts: testCounts(1, 0, 0), PassedTests: []string{"t.T.test_a"}, Output: "test_a (t.T.test_a) ... ok\n\nRan 1 test in 0.001s\n\nOK"}},
		{"all names", `{"type": "tests", "run": "cat passed.json failed.json; exit 1", "names": true, "isolated": true}`, Facts{Reason: "1 of 2 tests failed", ExitCode: exitCode(1), Counts: testCounts(1, 1, 0), Failed: []string{"p.TestB"}, PassedTests: []string{"p.TestA"}, Tests: map[string]string{"p.TestA": "passed", "p.TestB": "failed"}, Output: "--- PASS\nb_test.go:7: no"}},
		{"pytest without a test", `{"type": "tests", "run": "echo; echo 'no tests ran in 0.01s'; exit 5", "expect": "none_pass"}`, Facts{Reason: "no test ran, at least one must fail", ExitCode: exitCode(5), Counts: testCounts(0, 0, 0), Output: "no tests ran in 0.01s"}},
		{"as many warnings as allowed", `{"type": "command", "command": "echo a.c: Warning: x; echo 3 warnings", "expect": {"max_warnings": 1}}`, Facts{Passed: true, ExitCode: exitCode(0), Counts: map[string]int{"warnings": 1}, Output: "a.c: Warning: x\n3 warnings"}},
		{"too many warnings", `{"type": "command", "command": "echo warning: x; echo warning: x", "expect": {"max_warnings": 1}}`, Facts{Reason: "2 warnings, 1 are allowed", ExitCode: exitCode(0), Counts: map[string]int{"warnings": 2}, Output: "warning: x\nwarning: x"}},
		{"warnings on stderr, and a failure", `{"type": "command", "command": "echo warning: x >&2; exit 1", "expect": {"max_warnings": 1}}`, Facts{Reason: "the command of the check exited with code 1: warning: x", ExitCode: exitCode(1), Counts: map[string]int{"warnings": 1}, Output: "warning: x"}},

		{"tests", `{"type": "tests", "command": "cat passed.json"}`, Facts{Passed: true, ExitCode: exitCode(0), Counts: testCounts(1, 0, 0), PassedTests: []string{"p.TestA"}, Output: "--- PASS"}},
		{"tests that fail", `{"type": "tests", "command": "cat passed.json failed.json; exit 1", "format": "go"}`, Facts{Reason: "1 of 2 tests failed", ExitCode: exitCode(1), Counts: testCounts(1, 1, 0), Failed: []string{"p.TestB"}, PassedTests: []string{"p.TestA"}, Output: "--- PASS\nb_test.go:7: no"}},
		{"tests that fail are not made good by exit code 0", `{"type": "tests", "command": "printf 'TAP version 14\\n1..1\\nnot ok 1 - a\\n'"}`, Facts{Reason: "1 of 1 tests failed", ExitCode: exitCode(0), Counts: testCounts(0, 1, 0), Failed: []string{"a"}, Output: "TAP version 14\n1..1\nnot ok 1 - a"}},
		{"an exit code is not made good by tests that pass", `{"type": "tests", "command": "printf '1..1\\nok 1\\n'; exit 1"}`, Facts{Reason: "the command of the check exited with code 1", ExitCode: exitCode(1), Counts: testCounts(1, 0, 0), PassedTests: []string{"test 1"}, Output: "1..1\nok 1"}},
		{"tests that are all skipped", `{"type": "tests", "command": "printf '1..1\\nok 1 # SKIP\\n'"}`, Facts{Reason: "no test passed: all were skipped", ExitCode: exitCode(0), Counts: testCounts(0, 0, 1), Output: "1..1\nok 1 # SKIP"}},
		{"a failure before there was a test", `{"type": "tests", "command": "echo does not build; exit 2"}`, Facts{Reason: "the command of the check exited with code 2", ExitCode: exitCode(2), Counts: testCounts(0, 0, 0), Output: "does not build"}},
		{"an exit code is enough, and nothing is counted", `{"type": "tests", "command": "echo ok p 0.1s", "expect": "exit_zero"}`, Facts{Passed: true, ExitCode: exitCode(0), Output: "ok p 0.1s"}},
		{"an exit code that is bad, and nothing is counted", `{"type": "tests", "command": "echo FAIL; exit 1", "expect": "exit_zero"}`, Facts{Reason: "the command of the check exited with code 1", ExitCode: exitCode(1), Output: "FAIL"}},
		{"an exit code is enough, but what is counted counts", `{"type": "tests", "command": "printf '1..2\nok 1 # SKIP\nnot ok 2\n'", "expect": "exit_zero"}`, Facts{Reason: "1 of 1 tests failed", ExitCode: exitCode(0), Counts: testCounts(0, 1, 1), Failed: []string{"test 2"}, Output: "1..2\nok 1 # SKIP\nnot ok 2"}},
		{"an exit code is enough where all are skipped", `{"type": "tests", "command": "printf '1..1\nok 1 # SKIP\n'", "expect": "exit_zero"}`, Facts{Passed: true, ExitCode: exitCode(0), Counts: testCounts(0, 0, 1), Output: "1..1\nok 1 # SKIP"}},
		{"none passes", `{"type": "tests", "command": "cat failed.json; exit 1", "expect": "none_pass"}`, Facts{Passed: true, ExitCode: exitCode(1), Counts: testCounts(0, 1, 0), Failed: []string{"p.TestB"}, Output: "b_test.go:7: no"}},
		{"one passes that should not", `{"type": "tests", "command": "cat passed.json failed.json; exit 1", "expect": "none_pass"}`, Facts{Reason: "1 of 2 tests passed, none should", ExitCode: exitCode(1), Counts: testCounts(1, 1, 0), Failed: []string{"p.TestB"}, PassedTests: []string{"p.TestA"}, Output: "--- PASS\nb_test.go:7: no"}},
		{"none fails that should", `{"type": "tests", "command": "printf '1..1\\nok 1 # SKIP\\n'", "expect": "none_pass"}`, Facts{Reason: "no test failed, all should", ExitCode: exitCode(0), Counts: testCounts(0, 0, 1), Output: "1..1\nok 1 # SKIP"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := runCheck(t, firingtest.Request(t, tt.config, files))
			if err != nil {
				t.Fatal(err)
			}
			var head struct{ Type string }
			if err := json.Unmarshal([]byte(tt.config), &head); err != nil {
				t.Fatal(err)
			}
			if tt.want.Type == "" {
				tt.want.Type = head.Type
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Facts{}, "DurationMS")); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\\n`, `\n`).Replace(s)
}

// A check that cannot measure is an error and never passes.
func TestCheckCannotMeasure(t *testing.T) {
	tests := []struct {
		name, config string
		kind         failure.Kind
		texts        []string
	}{
		{"a missing program", `{"type": "command", "command": "nosuchprogram"}`, failure.HookFailed, []string{"exit code 127", "nosuchprogram"}},
		{"a file that is no program", `{"type": "tests", "command": "./plain.sh"}`, failure.HookFailed, []string{"exit code 126"}},
		{"time", `{"type": "command", "command": "exec sleep 600"}`, failure.HookTimeout, []string{"took longer than 300ms"}},
		{"time for tests", `{"type": "tests", "command": "echo ok 1; exec sleep 600"}`, failure.HookTimeout, []string{"took longer than 300ms"}},
		{"no test", `{"type": "tests", "command": "echo fine"}`, failure.HookFailed, []string{"no test was found", "fine"}},
		{"no test, as text of go test", `{"type": "tests", "command": "printf 'ok  \\tp\\t0.1s\\n'"}`, failure.HookFailed, []string{"no test was found"}},
		{"text of go test -v", `{"type": "tests", "command": "printf '=== RUN   TestA\n--- PASS: TestA (0.00s)\n'"}`, failure.HookFailed, []string{"no test was found", "TestA"}},
		{"a file behind a link that leads out", `{"type": "tests", "command": "cat", "files": ["outdir/passwd"]}`, failure.HookFailed, []string{"files", "escapes"}},
		{"a file that is a link that leads out", `{"type": "command", "command": "true", "files": ["plain.sh", "out"]}`, failure.HookFailed, []string{"files", "escapes"}},
		{"no test to fail", `{"type": "tests", "command": "echo does not build; exit 1", "expect": "none_pass"}`, failure.HookFailed, []string{"no test was found"}},
		{"a torn report", `{"type": "tests", "command": "echo '<testsuite><testcase name=\"a\"/>'", "format": "junit"}`, failure.HookFailed, []string{"JUnit XML", "EOF"}},
		{"a link that leads out", `{"type": "file", "path": "out", "exists": false}`, failure.HookFailed, []string{"escapes"}},
		{"a directory that leads out", `{"type": "file", "path": "outdir/*", "exists": false}`, failure.HookFailed, []string{"escapes"}},
		{"content behind a link that leads out", `{"type": "content", "path": "o*", "contains": "x"}`, failure.HookFailed, []string{"escapes"}},
		{"a pipe", `{"type": "content", "path": "pipe", "contains": "x"}`, failure.HookFailed, []string{"not a regular file"}},
		{"a file that is too large", `{"type": "content", "path": "large", "contains": "x"}`, failure.HookFailed, []string{"at most"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := firingtest.Request(t, tt.config, map[string]string{"plain.sh": "echo"})
			if tt.kind == failure.HookTimeout {
				req.Timeout = 300 * time.Millisecond
			}
			at := func(name string) string { return filepath.Join(req.WorkDir, name) }
			for _, err := range []error{
				os.Symlink("/etc/passwd", at("out")), os.Symlink("/etc", at("outdir")), syscall.Mkfifo(at("pipe"), 0o600),
				os.WriteFile(at("large"), nil, 0o600), os.Truncate(at("large"), maxFileSize+1),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := runCheck(t, req)
			firingtest.CheckError(t, err, tt.kind, tt.texts...)
		})
	}
}

// The hint for go test without -json is to add it; other output gets the list of formats.
func TestHintWithoutReport(t *testing.T) {
	for command, hint := range map[string]string{
		`printf 'ok  \\tp\\t0.1s\\n'`: "add -json",
		`printf -- '--- PASS: TestA'`: "add -json",
		`printf 'FAIL\\tp\\t0.1s\\n'`: "add -json",
		`echo ok`:                     "one of the formats cargo, go, junit, node, pytest, tap, unittest; format is auto",
	} {
		_, err := runCheck(t, firingtest.Request(t, `{"type": "tests", "command": "`+command+`"}`, nil))
		if f := failure.From(err); f == nil || !strings.Contains(f.Hint, hint) {
			t.Errorf("%s: %+v, want %q", command, f, hint)
		}
	}
}

// The report is read from files that the command writes in the project. Others are refused, also if their time is one of the
// future: they are of an earlier run, or an agent wrote them.
func TestReportFiles(t *testing.T) {
	const junit = `<testsuite name="s"><testcase classname="a.ATest" name="one"/></testsuite>`
	one := map[string]string{"a.ATest.one": statusPassed}
	outside := t.TempDir()
	for _, tt := range []struct {
		name, report, command string
		tests                 map[string]string
		reason, failure       string
	}{
		{"written", "build/*.xml", "mkdir -p build && cp plain build/a.xml", one, "", ""},
		{"written below", "**/results/**/*.xml", "mkdir -p m/results/x node_modules/results && cp plain m/results/x/a.xml && cp old.xml node_modules/results", one, "", ""},
		{"written again", "old.xml", "cat plain >old.xml", one, "", ""},
		{"a link within", "link.xml", "cp plain new; ln -s new link.xml", one, "", ""},
		{"stale", "old.xml", "true", nil, "CHEAT-REPORT: old.xml is stale", ""},
		{"stale, of the future", "future.xml", "true", nil, "CHEAT-REPORT: future.xml is stale", ""},
		{"stale, moved", "new.xml", "mv old.xml new.xml", nil, "CHEAT-REPORT: new.xml is stale", ""},
		{"stale beside a new one", "*.xml", "cp plain new.xml", nil, "CHEAT-REPORT: future.xml is stale", ""},
		{"stale, of a command that failed", "old.xml", "echo no compiler; exit 1", nil, "exited with code 1", ""},
		{"printed only", "old.xml", "cat plain; exit 1", nil, "exited with code 1", ""},
		{"a link that leads out", "out.xml", "cp plain " + outside + "/a.xml; ln -s " + outside + "/a.xml out.xml", nil, "CHEAT-REPORT: a report leads out of the project: statat out.xml", ""},
		{"a directory that leads out", "dir/*.xml", "cp plain " + outside + "/a.xml; ln -s " + outside + " dir", nil, "CHEAT-REPORT: a report leads out of the project: statat dir", ""},
		{"none", "build/**/*.xml", "true", nil, "", "the command wrote no file build/**/*.xml"},
		{"a pipe", "pipe", "mkfifo pipe", nil, "", "not a regular file"},
		{"without a test", "new.xml", "echo fine >new.xml", nil, "", "no test was found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, err := json.Marshal(map[string]any{"type": "tests", "command": tt.command, "report": tt.report, "names": true, "expect": "exit_zero"})
			if err != nil {
				t.Fatal(err)
			}
			req := firingtest.Request(t, string(config), map[string]string{"plain": junit, "old.xml": junit, "future.xml": junit})
			for name, at := range map[string]time.Time{"old.xml": time.Now().Add(-time.Hour), "future.xml": time.Now().Add(time.Hour)} {
				if err := os.Chtimes(filepath.Join(req.WorkDir, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
			facts, err := runCheck(t, req)
			if tt.failure != "" {
				firingtest.CheckError(t, err, failure.HookFailed, tt.failure)
				return
			}
			if diff := cmp.Diff(tt.tests, facts.Tests); diff != "" || err != nil || !strings.Contains(facts.Reason, tt.reason) || (facts.Reason == "") != (tt.reason == "") {
				t.Errorf("error %v, reason %q (-want +got):\n%s", err, facts.Reason, diff)
			}
			if isCheat := strings.HasPrefix(tt.reason, codeReport); isCheat != (facts.Evidence != nil) {
				t.Errorf("evidence %+v", facts.Evidence)
			}
		})
	}
}

// jest and vitest write their report outside of the project. The scripts write what jest 29 and vitest 3 wrote.
func TestJest(t *testing.T) {
	want := map[string]string{
		"a/calc.test.js > add > inner > adds 1": statusPassed, "a/calc.test.js > add > fails": statusFailed, "a/calc.test.js > add > skipped": statusSkipped,
		"a/calc.test.js > add > later": statusSkipped, "a/calc.test.js > top": statusPassed, "a/broken.test.js": statusFailed,
	}
	for _, runner := range []string{"jest", "vitest"} {
		recorded, err := os.ReadFile("testdata/reports/" + runner + ".json")
		if err != nil {
			t.Fatal(err)
		}
		req := firingtest.Request(t, `{"type": "tests", "command": "sh bin/`+runner+` run", "names": true, "expect": "exit_zero"}`, map[string]string{
			"bin/" + runner: `for option; do case $option in --outputFile*=*) sed "s:/project:$(pwd -P):g" recorded >"${option#*=}" ;; esac; done; exit 1`, "recorded": string(recorded),
		})
		facts, err := runCheck(t, req)
		if diff := cmp.Diff(want, facts.Tests); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", runner, err, diff)
		}
		if found, err := os.ReadDir(req.WorkDir); err != nil || len(found) != 2 {
			t.Errorf("%s: the project has %v, %v", runner, found, err)
		}
	}
}

// The file for the report of jest counts only where jest or vitest was asked for it: the tests of another runner, and the code
// that they run, could write it.
func TestOnlyJestReportsToTheFile(t *testing.T) {
	req := firingtest.Request(t, `{"type": "tests", "command": "sh tests", "names": true, "expect": "exit_zero"}`, map[string]string{
		"tests":  `cp forged "$AGENT_PIPELINES_CONTEXT_FILE.json"; echo "not ok 1 - adds"; echo 1..1; exit 1`,
		"forged": `{"testResults": [{"name": "a", "status": "passed", "assertionResults": [{"title": "adds", "status": "passed"}]}]}`,
	})
	facts, err := runCheck(t, req)
	if diff := cmp.Diff(map[string]string{"adds": statusFailed}, facts.Tests); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// A check that needs names says which line makes it read them from a file, with the path of the build tool.
func TestHintWithoutNames(t *testing.T) {
	for command, line := range map[string]string{
		"echo gradlew":                 `report: "**/build/test-results/**/*.xml"`,
		"echo mvn test":                `report: "**/target/surefire-reports/*.xml"`,
		"echo ok":                      `report: "<path of the file>.xml"`,
		"echo '=== 2 passed in 0.01s'": `report: "<path of the file>.xml"`, // counts alone
	} {
		for _, expect := range []string{"exit_zero", "all_pass"} {
			_, err := runCheck(t, firingtest.Request(t, `{"type": "tests", "names": true, "expect": "`+expect+`", "command": "`+command+`"}`, nil))
			if f := failure.From(err); f == nil || !strings.Contains(f.Hint, "add this line to the check: "+line) || !strings.Contains(f.Hint, "test_"+line) {
				t.Errorf("%s: %+v, want %s", command, f, line)
			}
		}
	}
}

// Facts stay small however much the command prints.
func TestFactsAreSmall(t *testing.T) {
	const flood = `{"type": "tests", "command": "awk 'BEGIN { print \"TAP version 13\"; for (i = 1; i < 20000; i++) print (i % 2 ? \"\" : \"not \") \"ok \" i \" - the test with the long name \" i }'"}`
	facts, err := runCheck(t, firingtest.Request(t, flood, nil))
	if err != nil {
		t.Fatal(err)
	}
	withNames, err := runCheck(t, firingtest.Request(t, strings.Replace(flood, "{", `{"names": true, `, 1), nil))
	if err != nil || len(withNames.Tests) != 19_999 || len(withNames.Output) < 200_000 || len(withNames.Output) > maxOutputWithNames {
		t.Errorf("error %v, %d names, output of %d bytes", err, len(withNames.Tests), len(withNames.Output))
	}
	raw, err := json.Marshal(facts)
	if err != nil || len(raw) > 10_000 {
		t.Errorf("%d bytes, error %v", len(raw), err)
	}
	last, lastPassed := facts.Failed[len(facts.Failed)-1], facts.PassedTests[len(facts.PassedTests)-1]
	if facts.Counts["failed"] != 9999 || !strings.HasPrefix(last, "and 99") || facts.Counts["passed"] != 10000 || !strings.HasPrefix(lastPassed, "and 99") || !strings.HasSuffix(facts.Output, "19999") || !strings.Contains(facts.Output, "\nnot ok") {
		t.Errorf("counts %v, last name %q, output %.60q", facts.Counts, last, facts.Output)
	}
}

func TestCheckConforms(t *testing.T) {
	plugintest.HookAction(t, plugintest.HookActionConfig{
		New:     func(t testing.TB) sdk.HookAction { return &Action{firingtest.Runner(t)} },
		Config:  json.RawMessage(`{"type": "command", "command": "true"}`),
		Cases:   []plugintest.HookCase{{Name: "passes"}, {Name: "fails", Request: sdk.HookRequest{Config: json.RawMessage(`{"type": "file", "path": "x"}`)}}},
		Refused: firingtest.Configs(`{}`, `{"type": "tests"}`),
	})
}
