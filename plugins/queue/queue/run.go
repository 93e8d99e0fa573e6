package queue

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// commandRun is one run of a command.
type commandRun struct {
	command  Command
	dir      string
	extraEnv map[string]string
	timeout  time.Duration
	// exitOneIsEmpty treats exit code 1 without output as an empty queue, the convention of grep.
	exitOneIsEmpty bool
	// line receives each line of stdout, also an empty line. Optional.
	line func(line []byte)
}

// run returns the number of non-empty lines that the command prints on stdout. When it returns, all processes of the
// command have ended. Errors are of kind config_invalid for a missing program, else strategy_failed, unless ctx ends
// the command.
func (s *Strategy) run(ctx context.Context, c commandRun) (int, error) {
	env := cliagent.Environ(s.environ(), c.extraEnv)
	path, err := findProgram(env, c.command[0])
	if err != nil {
		return 0, err
	}
	printed := 0
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: "the command of the queue", Path: path, Args: c.command[1:], Dir: c.dir, Env: env, Timeout: c.timeout,
		Line: func(line []byte) bool {
			if len(bytes.TrimSpace(line)) > 0 {
				printed++
			}
			if c.line != nil {
				c.line(line)
			}
			return false
		},
	})
	switch {
	case err != nil:
		return 0, failure.New(failure.StrategyFailed, "queue: run %s: %w", c.display(), err)
	case end.Clean():
		return printed, nil
	case c.exitOneIsEmpty && end.StopReason == cliagent.StopNone && end.ExitCode == 1 && printed == 0 && end.Stderr == "":
		return 0, nil
	}
	return 0, c.newFailure(end)
}

// newFailure returns the failure of a run that did not succeed.
func (c commandRun) newFailure(end cliagent.End) error {
	cause := end.Failure()
	f := failure.New(failure.StrategyFailed, "queue: %s: %s", c.display(), cause.Message).WithDetail(end.Stderr)
	if end.Interrupted() {
		if end.StopReason == cliagent.StopTimeout {
			return f.WithHint("set a higher limit with termination.timeout, in seconds")
		}
		f.Kind = cause.Kind
		return f
	}
	return f.WithHint("run it by hand: it must end with exit code 0 if the queue can be read, even an empty one")
}

// display returns the command as a user would type it.
func (c commandRun) display() string {
	if len(c.command) == 3 && c.command[0] == "sh" && c.command[1] == "-c" {
		return c.command[2]
	}
	return strings.Join(c.command, " ")
}
