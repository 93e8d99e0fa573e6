package check

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// measureTests measures the tests that a command runs, by what it reports on stdout.
func (c *Action) measureTests(ctx context.Context, config Config, req sdk.HookRequest) (Facts, error) {
	printed := &firing.TailBuffer{Max: maxOutput}
	if err := checkInside(req.WorkDir, config.Files); err != nil {
		return Facts{}, err
	}
	read, files := newReport(config.Format), config.Files
	if config.takesPackages() {
		only, err := readGoFiles(req.WorkDir, files)
		if err != nil {
			return Facts{}, err
		}
		read, files = &goTest{files: only}, nil
	}
	run := commandWithFiles("the command of the check", config.Command, files)
	run.Limit = firing.Limit(req, defaultLimit)
	goText := false // go test without -json, which counts nothing
	onStderr := &unittest{}
	run.Stderr = func(line []byte) {
		onStderr.readLine(line)
		printed.Add(line)
	}
	run.Stdout = func(line []byte) {
		goText = goText || printsGoText(line)
		printed.Add(read.readLine(line))
	}
	end, err := c.runCommand(ctx, run, req)
	if err != nil {
		return Facts{}, err
	}
	found, err := read.results()
	if err != nil {
		return Facts{}, measureError("the report of the tests: %w", err).WithDetail(printed.String()).
			WithHint("format: says which one it is; nothing else belongs on stdout")
	}
	if !found.hasTests() && onStderr.began && (config.Format == formatAuto || config.Format == formatUnittest) {
		read = onStderr
		if found, err = read.results(); err != nil {
			return Facts{}, err
		}
	}
	if !found.hasTests() {
		if facts, settled, err := config.factsWithoutTests(end, printed.String(), reportBegan(read), goText); settled {
			return facts, err
		}
	}
	return Facts{
		ExitCode: &end.ExitCode,
		Counts:   map[string]int{"passed": found.passed, "failed": found.failed, "skipped": found.skipped},
		Failed:   found.failedNames.listFor(found.failed), PassedTests: found.passedNames.listFor(found.passed), Output: printed.String(), Reason: unexpectedReason(config.Expect.Word, found, end),
	}, nil
}

// factsWithoutTests is what is measured where the command's report has no tests: by its exit code alone, where that is all that is
// expected; nothing, where some should be there. It is not settled where the command failed and tests were to pass.
func (c Config) factsWithoutTests(end cliagent.End, printed string, began, goText bool) (facts Facts, settled bool, err error) {
	facts = Facts{ExitCode: &end.ExitCode, Output: printed}
	switch {
	case c.Expect.Word == expectNonePass && began:
		facts.Counts, facts.Reason = map[string]int{"passed": 0, "failed": 0, "skipped": 0}, "no test ran, one has to fail"
		return facts, true, nil
	case c.Expect.Word == expectExitZero:
		if !end.Clean() {
			facts.Reason = end.Failure().Message
		}
		return facts, true, nil
	case end.Clean() || c.Expect.Word == expectNonePass:
		return Facts{}, true, measureError("no test was found in what the command printed").WithDetail(printed).WithHint("%s", c.missingTestsHint(goText))
	default:
		return Facts{}, false, nil
	}
}

// missingTestsHint says what to do where no test was found.
func (c Config) missingTestsHint(goText bool) string {
	if goText {
		return "go test prints its results as text: add -json, as in go test -json ./..., or measure the exit code alone with expect: exit_zero"
	}
	return fmt.Sprintf("let it print the results of its tests on stdout, in one of the formats %s; format is %s",
		strings.Join(formatNames()[1:], ", "), c.Format)
}

// unexpectedReason is why the tests did not come out as expected, or "".
func unexpectedReason(expect string, found results, end cliagent.End) string {
	switch {
	case expect == expectNonePass && found.passed > 0:
		return fmt.Sprintf("%d of %d tests passed, none should", found.passed, found.passed+found.failed)
	case expect == expectNonePass && found.failed == 0:
		return "no test failed, all should"
	case expect == expectNonePass:
		return ""
	case found.failed > 0:
		return fmt.Sprintf("%d of %d tests failed", found.failed, found.passed+found.failed)
	case !end.Clean():
		return end.Failure().Message
	case found.passed == 0 && expect != expectExitZero:
		return "no test passed: all were skipped"
	default:
		return ""
	}
}
