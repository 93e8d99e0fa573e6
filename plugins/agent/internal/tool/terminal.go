package tool

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
)

type terminalArgs struct {
	Command, Dir, Reason string
	Timeout              int
}

type terminalResult struct {
	ExitCode   int         `json:"exit_code"`
	Stdout     string      `json:"stdout"`
	Stderr     string      `json:"stderr"`
	DurationMs int64       `json:"duration_ms"`
	EndedBy    string      `json:"ended_by,omitempty"`
	Tries      []try       `json:"tries,omitempty"`
	Truncated  *truncation `json:"truncated,omitempty"`
}

// try is one run of a command that ran more than once.
type try struct {
	ExitCode   int    `json:"exit_code"`
	DurationMs int64  `json:"duration_ms"`
	Cause      string `json:"cause,omitempty"` // the reason for the next run
}

func (a terminalArgs) prepare(s *Set, p *PreparedCall) error {
	c, err := s.rules.Judge(a.Command, a.Dir)
	if err != nil {
		return err
	}
	info, err := s.ws.Root().Stat(c.Dir)
	switch {
	case err != nil:
		return fileError(c.Dir, err)
	case !info.IsDir():
		return newFailure("%s is not a directory", c.Dir)
	}
	p.Effect, p.Category, p.Command, p.Reason = c.Effect, sdk.CategoryTerminal, c.Line(), a.Reason
	p.Destructive, p.External = c.Destructive, c.External
	p.Preview = p.Command
	if c.Dir != "." {
		p.Preview = "in " + c.Dir + ": " + p.Command
	}
	p.run = func(ctx context.Context) (outcome, error) { return s.runTerminal(ctx, a, c) }
	return nil
}

// isProtected reports whether commands must not change the file: the engine's files in .claude, and files that a policy
// protects. The kernel checks the paths of file tools, but not the paths of commands.
func (s *Set) isProtected(name string) bool {
	name = strings.ToLower(name)
	return name == ".claude" || strings.HasPrefix(name, ".claude/") || s.matchesPolicy(name)
}

// timeLimit returns the time limit of all tries of a command together.
func (s *Set) timeLimit(asked int) time.Duration {
	limit, most := s.o.Timeout, s.o.Timeout
	if limit <= 0 {
		limit, most = DefaultTimeout, MaxTimeout
	}
	if asked > 0 {
		limit = min(time.Duration(asked)*time.Second, most)
	}
	return min(limit, MaxTimeout)
}

func (s *Set) runTerminal(ctx context.Context, a terminalArgs, judged command.Command) (outcome, error) {
	c, err := s.rules.Judge(a.Command, a.Dir) // links may have changed
	if err != nil {
		return outcome{}, err
	}
	if c.Dir != judged.Dir || c.Path != judged.Path || c.Destructive != judged.Destructive {
		return outcome{}, newDenial("the meaning of %q has changed since the call was checked; call the tool again", judged.Line())
	}
	limit := s.timeLimit(a.Timeout)
	begin := time.Now()
	var last commandRun
	var tries []try
	for n := 0; ; n++ {
		if last, err = s.runOnce(ctx, c, limit-time.Since(begin)); err != nil {
			return outcome{}, err
		}
		t := try{ExitCode: last.end.ExitCode, DurationMs: last.end.Duration.Milliseconds()}
		if c.Repeatable && n < len(s.o.Retry) && limit-time.Since(begin) > s.o.Retry[n] {
			t.Cause = last.temporaryCause()
		}
		tries = append(tries, t)
		if t.Cause == "" || !s.pause(ctx, n, t.Cause) {
			break
		}
	}
	redactor := s.o.Redactor
	if c.Args[0] == "git" {
		redactor = redactor.WithPatterns([]*regexp.Regexp{addressUser})
	}
	return s.terminalOutcome(last, tries, limit, time.Since(begin), redactor), nil
}

// addressUser matches the user, and the password, in an address of a remote: each of them may be a token.
var addressUser = regexp.MustCompile(`(?i)(?:https?|ftps?)://([^\s/"']+)@`)

// pause waits before the next try and reports whether to make it.
func (s *Set) pause(ctx context.Context, n int, cause string) bool {
	s.o.Progress(fmt.Sprintf("Retry %d/%d: %s", n+1, len(s.o.Retry), cause))
	timer := time.NewTimer(s.o.Retry[n])
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// commandRun is one run of a command.
type commandRun struct {
	end            cliagent.End
	stdout, stderr *capture
}

func (s *Set) runOnce(ctx context.Context, c command.Command, limit time.Duration) (commandRun, error) {
	r := commandRun{stdout: newCapture(s.maxBytes()), stderr: newCapture(s.maxBytes())}
	dir, environ := s.ws.Abs(c.Dir), s.environ
	if c.Args[0] == "git" {
		environ = s.gitEnviron
	}
	path, args := s.confined(c)
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: c.Args[0], Path: path, Args: args, Dir: dir, Env: append(slices.Clone(environ), "PWD="+dir),
		Line:       func(line []byte) bool { r.stdout.write(line); return false },
		StderrLine: func(line []byte) { r.stderr.write(line) },
		Timeout:    limit, Grace: s.o.Grace, GroupTerm: true,
	})
	r.end = end
	return r, err
}

// confined returns the command in its sandbox. Where commands write no file of the workspace, git itself still writes its
// repository: the policy rules on the arguments of git.
func (s *Set) confined(c command.Command) (path string, args []string) {
	if !s.o.ReadOnly {
		return confine.Tool(s.o.Environ, c.Path, c.Run)
	}
	var write []string
	if c.Args[0] == "git" {
		write = []string{s.ws.Abs(".git")}
	}
	return confine.ReadOnlyTool(s.o.Environ, write, c.Path, c.Run)
}

// temporaryCause returns the text in a failed command's output that indicates a temporary failure, "" for none.
func (r commandRun) temporaryCause() string {
	if r.end.Clean() || r.end.StopReason != cliagent.StopNone {
		return ""
	}
	const near = 8 << 10
	for _, text := range []string{r.stderr.tail(near), r.stdout.tail(near)} {
		if word := temporaryFailures.FindString(text); word != "" {
			return word
		}
	}
	return ""
}

// temporaryFailures matches the messages of temporary failures.
var temporaryFailures = regexp.MustCompile(`(?i)connection (?:refused|reset|timed? ?out|closed by remote host)|operation timed out|i/o timeout|TLS handshake timeout|` +
	`gateway time-?out|temporarily unavailable|temporary failure|could not resolve host|network is unreachable|\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN)\b|` +
	`index\.lock'?: File exists|database is locked|text file busy|too many requests|service unavailable`)

// terminalOutcome returns the outcome of the last try.
func (s *Set) terminalOutcome(last commandRun, tries []try, limit, took time.Duration, redactor *redact.Redactor) outcome {
	result := terminalResult{ExitCode: last.end.ExitCode, DurationMs: took.Milliseconds()}
	if len(tries) > 1 {
		result.Tries = tries
	}
	half := s.maxBytes() / 2
	stderr := last.stderr.text(redactor)
	var cutErr, cutOut *truncation
	result.Stdout, cutOut = cutMiddle(last.stdout.text(redactor), s.maxBytes()-min(half, len(stderr)))
	result.Stderr, cutErr = cutMiddle(stderr, s.maxBytes()-min(half, len(result.Stdout)))
	result.Truncated = cutOut.add(cutErr).add(last.stdout.discarded()).add(last.stderr.discarded())
	done := outcome{status: sdk.ToolSuccess}
	switch {
	case last.end.StopReason == cliagent.StopTimeout:
		done.status, result.ExitCode = sdk.ToolTimeout, -1
		result.EndedBy = fmt.Sprintf("the time limit of %s; the output until then is kept", limit)
	case last.end.Interrupted():
		done.status, result.ExitCode, result.EndedBy = sdk.ToolError, -1, "the run was stopped"
	case last.end.Signal != 0:
		done.status, result.EndedBy = sdk.ToolError, fmt.Sprintf("signal %d (%s)", int(last.end.Signal), last.end.Signal)
	case last.end.ExitCode != 0:
		done.status = sdk.ToolError
	}
	done.data = result
	return done
}
