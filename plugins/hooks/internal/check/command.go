package check

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// maxOutput is how much of the end of a command's output the facts hold, in bytes.
const maxOutput = 4 << 10

// warning is what a line of a warning holds, by the habit of compilers and linters.
var warning = regexp.MustCompile(`(?i)\bwarning\b`)

// measureCommand measures the exit code of a command, and its warnings.
func (c *Action) measureCommand(ctx context.Context, config Config, req sdk.HookRequest) (Facts, error) {
	var warnings atomic.Int64
	printed := &firing.TailBuffer{Max: maxOutput}
	if err := checkInside(req.WorkDir, config.Files); err != nil {
		return Facts{}, err
	}
	run := commandWithFiles("the command of the check", config.Command, config.Files)
	run.Limit = firing.Limit(req, defaultLimit)
	run.Stdout = func(line []byte) {
		if warning.Match(line) {
			warnings.Add(1)
		}
		printed.Add(line)
	}
	run.Stderr = run.Stdout
	end, err := c.runCommand(ctx, run, req)
	if err != nil {
		return Facts{}, err
	}
	facts := Facts{ExitCode: &end.ExitCode, Output: printed.String()}
	if most := config.Expect.MaxWarnings; most != nil {
		found := int(warnings.Load())
		facts.Counts = map[string]int{"warnings": found}
		if found > *most {
			facts.Reason = fmt.Sprintf("%d warnings, %d are allowed", found, *most)
		}
	}
	if !end.Clean() {
		facts.Reason = end.Failure().Message
		if last := facts.Output[strings.LastIndexByte(facts.Output, '\n')+1:]; last != "" {
			facts.Reason += ": " + last // what people are told; agents get all of the output
		}
	}
	return facts, nil
}

// runCommand runs a command whose exit code means something: one that the shell could not start is an error.
func (c *Action) runCommand(ctx context.Context, run firing.Command, req sdk.HookRequest) (cliagent.End, error) {
	end, err := c.runner.Run(ctx, run, req)
	if err != nil {
		return end, err
	}
	if end.ExitCode == notExecutable || end.ExitCode == notFound {
		return end, measureError("%s", end.Failure().Message).WithDetail(end.Stderr).
			WithHint("run it by hand in the project: the shell says which program it misses")
	}
	return end, nil
}

// What a shell exits with when it cannot start a program (POSIX, 2.8.2).
const (
	notExecutable = 126
	notFound      = 127
)
