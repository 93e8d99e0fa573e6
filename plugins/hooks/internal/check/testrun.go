package check

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// measureTests measures the tests that a command runs, by its report on stdout or in files, or by the report of Python's
// unittest on stderr.
func measureTests(ctx context.Context, runner *firing.Runner, config Config, req sdk.HookRequest, root *os.Root) (Facts, error) {
	if err := checkInside(root, config.Files); err != nil {
		return Facts{}, err
	}
	out, files := &testOutput{Config: config, reader: newReport(config.Format)}, config.Files
	if config.runsPackages() {
		only, err := readGoFiles(root, files)
		if err != nil {
			return Facts{}, err
		}
		out.reader, files = &goTest{files: only}, nil
	}
	out.printed.Max = maxOutput
	if config.Names { // the message of a compiler may stand before the output of all tests
		out.printed.Max = maxOutputWithNames
	}
	if config.Report != "" {
		out.files = newReportFiles(root, config.Report)
	}
	text := config.commandWithNames(packageScripts(root))
	run := commandWithFiles("the command of the check", text, files)
	run.Env, run.Limit = config.reporterVariables(req.WorkDir), cmp.Or(req.Timeout, defaultLimit)
	run.Stdout, run.Stderr = out.readStdout, out.readStderr
	if strings.Contains(text, jestReport) { // otherwise the file is not of a runner but of what it runs
		run.Finish = func(contextFile string) { out.readJest(contextFile+jestSuffix, req.WorkDir) }
	}
	end, err := runCommand(ctx, runner, run, req)
	if !end.Clean() {
		err = cmp.Or(missingPackage(runner.Environ(), root, out.printed.String()), err)
	}
	if err != nil {
		return Facts{}, err
	}
	return out.facts(end)
}

// testOutput reads the output of a command that runs tests, and its files with reports.
type testOutput struct {
	Config
	reader   report
	onStderr unittest
	goText   bool // go test without -json, whose tests cannot be counted
	printed  firing.TailBuffer
	files    *reportFiles // of the key report, nil without it
}

func (o *testOutput) readStderr(line []byte) {
	o.onStderr.readLine(line)
	o.printed.Add(line)
}

func (o *testOutput) readStdout(line []byte) {
	o.goText = o.goText || goTextOutput.Match(line)
	if o.files == nil {
		line = o.reader.readLine(line)
	}
	o.printed.Add(line)
}

// readJest reads the report of jest or vitest, if there is one.
func (o *testOutput) readJest(file, workDir string) {
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && info.Size() <= maxJUnit {
		text, _ := os.ReadFile(file)
		o.reader = &jest{text, workDir}
	}
}

// facts returns the facts of a run of the command.
func (o *testOutput) facts(end cliagent.End) (Facts, error) {
	if o.files != nil {
		if cheat, err := o.files.read(o.reader, end); cheat != "" || err != nil {
			return Facts{ExitCode: &end.ExitCode, Output: o.printed.String(), Reason: codeReport + ": " + cheat, Evidence: map[string]string{"code": codeReport}}, err
		}
	}
	total, err := o.results()
	if err != nil {
		return Facts{}, err
	}
	if !total.hasTests() {
		if facts, ok, err := o.factsWithoutTests(end); ok {
			return facts, err
		}
	}
	if !o.Names {
		total.tests = nil
	}
	return Facts{
		Tests: total.tests, ExitCode: &end.ExitCode,
		Counts: map[string]int{"passed": total.passed, "failed": total.failed, "skipped": total.skipped},
		Failed: total.failedNames.listFor(total.failed), PassedTests: total.passedNames.listFor(total.passed), Output: o.printed.String(), Reason: unexpectedReason(o.Expect.Word, total, end),
	}, nil
}

// results returns the tests of the report.
func (o *testOutput) results() (results, error) {
	total, err := o.reader.results()
	if err != nil {
		return total, measureError("read the test report: %w", err).WithDetail(o.printed.String()).
			WithHint("set format: to that of the report, and print nothing else on stdout")
	}
	if !total.hasTests() && o.files == nil && o.onStderr.began && (o.Format == formatAuto || o.Format == formatUnittest) {
		o.reader = &o.onStderr
		total, err = o.reader.results()
	}
	if count := total.passed + total.failed + total.skipped; o.Names && count > 0 && len(total.tests) == 0 {
		err = measureError("the command reports %d tests and names none: tests are compared by their names", count).
			WithDetail(o.printed.String()).WithHint("%s", o.reportHint())
	}
	return total, err
}

// factsWithoutTests returns the facts of a run in which no test was counted. It returns an error if the expectation
// requires a test, or names require a report. ok is false if the command failed and its tests had to pass.
func (o *testOutput) factsWithoutTests(end cliagent.End) (facts Facts, ok bool, err error) {
	began := reportBegan(o.reader)
	facts = Facts{ExitCode: &end.ExitCode, Output: o.printed.String()}
	switch {
	case o.Expect.Word == expectNonePass && began:
		facts.Counts, facts.Reason = map[string]int{"passed": 0, "failed": 0, "skipped": 0}, "no test ran, at least one must fail"
		return facts, true, nil
	case o.Expect.Word == expectExitZero && (began || !o.Names || !end.Clean()):
		if !end.Clean() {
			facts.Reason = end.Failure().Message
		}
		return facts, true, nil
	case end.Clean() || o.Expect.Word == expectNonePass:
		return Facts{}, true, measureError("no test was found in the output of the command").WithDetail(facts.Output).WithHint("%s", o.missingTestsHint())
	default:
		return Facts{}, false, nil
	}
}

// missingTestsHint returns the hint of a report without tests.
func (o *testOutput) missingTestsHint() string {
	if o.goText && !o.Names {
		return "add -json to go test, as in go test -json ./..., or measure only the exit code with expect: exit_zero"
	}
	return fmt.Sprintf("print the test results on stdout in one of the formats %s; format is %s. Or %s", strings.Join(formatNames()[1:], ", "), o.Format, o.reportHint())
}

// reportHint returns the line that makes a check read the names of tests from a file.
func (c Config) reportHint() string {
	file := "<path of the file>.xml"
	switch {
	case strings.Contains(c.Command, "gradle"):
		file = "**/build/test-results/**/*.xml"
	case strings.Contains(c.Command, "mvn"):
		file = "**/target/surefire-reports/*.xml"
	}
	return fmt.Sprintf("let it write JUnit XML to a file, and add this line to the check: report: %q; for implement, test and fix add this line under commands: in .claude/config.yaml: test_report: %[1]q", file)
}

// unexpectedReason returns the reason if the result is unexpected, else "".
func unexpectedReason(expect string, total results, end cliagent.End) string {
	switch {
	case expect == expectNonePass && total.passed > 0:
		return fmt.Sprintf("%d of %d tests passed, none should", total.passed, total.passed+total.failed)
	case expect == expectNonePass && total.failed == 0:
		return "no test failed, all should"
	case expect == expectNonePass:
		return ""
	case total.failed > 0:
		return fmt.Sprintf("%d of %d tests failed", total.failed, total.passed+total.failed)
	case !end.Clean():
		return end.Failure().Message
	case total.passed == 0 && expect != expectExitZero:
		return "no test passed: all were skipped"
	default:
		return ""
	}
}

// unittestCommand matches Python's unittest in a shell text, with its subcommand, goTestCommand matches go test, with -C,
// which must be its first flag.
var (
	unittestCommand = regexp.MustCompile(`(-m\s+unittest(?:\s+discover)?)([\s;&|)]|$)`)
	goTestCommand   = regexp.MustCompile(`(?:^|[\s;&|(])go\s+test\b(?:\s+--?C[\s=]\S+)?`)
)

// commandWithNames returns the command, which prints the names of all tests if names is set and the runner has an option
// for that. scripts are those of package.json. The option is in the command: a variable such as GOFLAGS changes other commands of the text, too.
func (c Config) commandWithNames(scripts map[string]string) string {
	if !c.Names || c.Report != "" {
		return c.Command
	}
	text := commandOfJest(unittestCommand.ReplaceAllString(c.Command, "$1 -v$2"), scripts)
	if !strings.Contains(text, "-json") {
		text = goTestCommand.ReplaceAllString(text, "$0 -json")
	}
	return text
}

// reporterVariables returns the variables that make runners print the names of all tests, if names is set.
func (c Config) reporterVariables(dir string) map[string]string {
	if !c.Names {
		return nil
	}
	options := os.Getenv("PYTEST_ADDOPTS") + " -vv -rfEpxX"
	v := map[string]string{}
	if c.Isolated { // before installed packages that refer to the project, and its conftest.py
		v["PYTHONPATH"] = strings.Join([]string{dir, filepath.Join(dir, "src"), os.Getenv("PYTHONPATH")}, string(os.PathListSeparator))
		options += " --rootdir=. --confcutdir=."
	}
	v["PYTEST_ADDOPTS"] = strings.TrimSpace(options)
	return v
}
