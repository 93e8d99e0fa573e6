package check

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// maxOutput limits the command's output in the facts, in bytes; maxOutputWithNames does so beside the names of all tests.
const (
	maxOutput          = 4 << 10
	maxOutputWithNames = 256 << 10
)

// warning matches a line with a warning, as compilers and linters print it.
var warning = regexp.MustCompile(`(?i)\bwarning\b`)

// measureCommand measures the exit code of a command, and its warnings.
func measureCommand(ctx context.Context, runner *firing.Runner, config Config, req sdk.HookRequest, root *os.Root) (Facts, error) {
	var warnings atomic.Int64
	printed := &firing.TailBuffer{Max: maxOutput}
	if err := checkInside(root, config.Files); err != nil {
		return Facts{}, err
	}
	run := commandWithFiles("the command of the check", config.Command, config.Files)
	run.Limit = cmp.Or(req.Timeout, defaultLimit)
	run.Stdout = func(line []byte) {
		if warning.Match(line) {
			warnings.Add(1)
		}
		printed.Add(line)
	}
	run.Stderr = run.Stdout
	end, err := runCommand(ctx, runner, run, req)
	if !end.Clean() {
		err = cmp.Or(missingPackage(runner.Environ(), root, printed.String()), err)
	}
	if err != nil {
		return Facts{}, err
	}
	facts := Facts{ExitCode: &end.ExitCode, Output: printed.String()}
	if limit := config.Expect.MaxWarnings; limit != nil {
		found := int(warnings.Load())
		facts.Counts = map[string]int{"warnings": found}
		if found > *limit {
			facts.Reason = fmt.Sprintf("%d warnings, %d are allowed", found, *limit)
		}
	}
	if !end.Clean() {
		facts.Reason = end.Failure().Message
		if last := facts.Output[strings.LastIndexByte(facts.Output, '\n')+1:]; last != "" {
			facts.Reason += ": " + last // the user sees this line, the agents the whole output
		}
	}
	return facts, nil
}

// runCommand runs a command. It returns an error if the shell could not start the program.
func runCommand(ctx context.Context, runner *firing.Runner, run firing.Command, req sdk.HookRequest) (cliagent.End, error) {
	end, err := runner.Run(ctx, run, req)
	if err != nil {
		return end, err
	}
	if end.ExitCode == notExecutable || end.ExitCode == notFound {
		return end, measureError("%s", end.Failure().Message).WithDetail(end.Stderr).
			WithHint("run it by hand in the project: the shell names the missing program")
	}
	return end, nil
}

// The exit codes of a shell that cannot start a program (POSIX, 2.8.2).
const (
	notExecutable = 126
	notFound      = 127
)
