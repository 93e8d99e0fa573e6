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
	extraEnv map[string]string // environment
	timeout  time.Duration
	// exitOneIsEmpty takes exit code 1 without output as an empty queue, as grep and its like mean it.
	exitOneIsEmpty bool
}

// maxLineBytes bounds what is kept of the lines of a queue.
const maxLineBytes = 16 << 20

// lineBuffer are those with text that a command printed.
type lineBuffer struct {
	// count is how many there were.
	count int
	// text are the first of them, each with a newline, until one more would pass maxBytes.
	text strings.Builder
	full bool
}

func (l *lineBuffer) add(line []byte) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	l.count++
	if l.full = l.full || l.text.Len()+len(line) >= maxLineBytes; !l.full {
		l.text.Write(line)
		l.text.WriteByte('\n')
	}
}

// run returns the lines with text that the command prints on stdout. Nothing that it started outlives
// it. Errors are of kind config_invalid where the program is missing, else strategy_failed.
func (s *Strategy) run(ctx context.Context, c commandRun) (*lineBuffer, error) {
	env := cliagent.Environ(s.environ(), c.extraEnv)
	path, err := findProgram(env, c.command)
	if err != nil {
		return nil, err
	}
	printed := &lineBuffer{}
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: "the command of the queue", Path: path, Args: c.command[1:], Dir: c.dir, Env: env, Timeout: c.timeout,
		Line: func(line []byte) bool {
			printed.add(line)
			return false
		},
	})
	switch {
	case err != nil:
		return nil, failure.New(failure.StrategyFailed, "queue: run %s: %w", c.display(), err)
	case end.Clean():
		return printed, nil
	case c.exitOneIsEmpty && end.Cut == cliagent.CutNone && end.ExitCode == 1 && printed.count == 0 && end.Stderr == "":
		return printed, nil
	}
	return nil, c.newFailure(end)
}

func (c commandRun) newFailure(end cliagent.End) error {
	cause := end.Failure()
	f := failure.New(failure.StrategyFailed, "queue: %s: %s", c.display(), cause.Message).WithDetail(end.Stderr)
	if end.Interrupted() {
		f.Kind = cause.Kind
		if end.Cut == cliagent.CutTimeout {
			f.Kind = failure.StrategyFailed
		}
		return f.WithHint("termination.timeout sets the limit in seconds")
	}
	return f.WithHint("run it by hand; a command has to end with exit code 0 when the queue can be read, with or without items")
}

// display is the command as a person would type it.
func (c commandRun) display() string {
	if len(c.command) == 3 && c.command[0] == "sh" && c.command[1] == "-c" {
		return c.command[2]
	}
	return strings.Join(c.command, " ")
}
