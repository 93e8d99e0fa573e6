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

// measureTests measures the tests that a command runs, by its report on stdout or by the report of Python's unittest on
// stderr.
func measureTests(ctx context.Context, runner *firing.Runner, config Config, req sdk.HookRequest) (Facts, error) {
	printed := &firing.TailBuffer{Max: maxOutput}
	if config.Names { // the message of a compiler may stand before the output of all tests
		printed.Max = maxOutputWithNames
	}
	if err := checkInside(req.WorkDir, config.Files); err != nil {
		return Facts{}, err
	}
	reader, files := newReport(config.Format), config.Files
	if config.runsPackages() {
		only, err := readGoFiles(req.WorkDir, files)
		if err != nil {
			return Facts{}, err
		}
		reader, files = &goTest{files: only}, nil
	}
	run := commandWithFiles("the command of the check", config.commandWithNames(), files)
	run.Env = config.reporterVariables(req.WorkDir)
	run.Limit = cmp.Or(req.Timeout, defaultLimit)
	goText := false // go test without -json, whose tests cannot be counted
	onStderr := &unittest{}
	run.Stderr = func(line []byte) {
		onStderr.readLine(line)
		printed.Add(line)
	}
	run.Stdout = func(line []byte) {
		goText = goText || goTextOutput.Match(line)
		printed.Add(reader.readLine(line))
	}
	end, err := runCommand(ctx, runner, run, req)
	if err != nil {
		return Facts{}, err
	}
	total, err := reader.results()
	if err != nil {
		return Facts{}, measureError("read the test report: %w", err).WithDetail(printed.String()).
			WithHint("set format: to that of the report, and print nothing else on stdout")
	}
	if !total.hasTests() && onStderr.began && (config.Format == formatAuto || config.Format == formatUnittest) {
		reader = onStderr
		if total, err = reader.results(); err != nil {
			return Facts{}, err
		}
	}
	if !total.hasTests() {
		if facts, ok, err := config.factsWithoutTests(end, printed.String(), reportBegan(reader), goText); ok {
			return facts, err
		}
	}
	if !config.Names {
		total.tests = nil
	}
	return Facts{
		Tests: total.tests, ExitCode: &end.ExitCode,
		Counts: map[string]int{"passed": total.passed, "failed": total.failed, "skipped": total.skipped},
		Failed: total.failedNames.listFor(total.failed), PassedTests: total.passedNames.listFor(total.passed), Output: printed.String(), Reason: unexpectedReason(config.Expect.Word, total, end),
	}, nil
}

// factsWithoutTests returns the facts of a run in which no test was counted, or an error if the expectation requires a
// test. ok is false if the command failed and its tests had to pass.
func (c Config) factsWithoutTests(end cliagent.End, printed string, began, goText bool) (facts Facts, ok bool, err error) {
	facts = Facts{ExitCode: &end.ExitCode, Output: printed}
	switch {
	case c.Expect.Word == expectNonePass && began:
		facts.Counts, facts.Reason = map[string]int{"passed": 0, "failed": 0, "skipped": 0}, "no test ran, at least one must fail"
		return facts, true, nil
	case c.Expect.Word == expectExitZero:
		if !end.Clean() {
			facts.Reason = end.Failure().Message
		}
		return facts, true, nil
	case end.Clean() || c.Expect.Word == expectNonePass:
		return Facts{}, true, measureError("no test was found in the output of the command").WithDetail(printed).WithHint("%s", c.missingTestsHint(goText))
	default:
		return Facts{}, false, nil
	}
}

// missingTestsHint returns the hint of a report without tests.
func (c Config) missingTestsHint(goText bool) string {
	if goText {
		return "add -json to go test, as in go test -json ./..., or measure only the exit code with expect: exit_zero"
	}
	return fmt.Sprintf("print the test results on stdout in one of the formats %s; format is %s",
		strings.Join(formatNames()[1:], ", "), c.Format)
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
// for that. The option is in the command: a variable such as GOFLAGS changes other commands of the text, too.
func (c Config) commandWithNames() string {
	if !c.Names {
		return c.Command
	}
	text := unittestCommand.ReplaceAllString(c.Command, "$1 -v$2")
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
