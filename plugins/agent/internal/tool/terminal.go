package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
)

type terminalArgs struct {
	Command, Dir, Reason string
	Timeout              int
}

type terminalResult struct {
	ExitCode   int        `json:"exit_code"`
	Stdout     string     `json:"stdout"`
	Stderr     string     `json:"stderr"`
	DurationMs int64      `json:"duration_ms"`
	EndedBy    string     `json:"ended_by,omitempty"`
	Tries      []try      `json:"tries,omitempty"`
	Truncated  *truncated `json:"truncated,omitempty"`
}

// try is one run of a command that was run more than once.
type try struct {
	ExitCode   int    `json:"exit_code"`
	DurationMs int64  `json:"duration_ms"`
	Cause      string `json:"cause,omitempty"` // why it was run again
}

func prepareTerminal(s *Set, p *Prepared, args json.RawMessage) error {
	var a terminalArgs
	if err := read(args, &a); err != nil {
		return err
	}
	c, err := s.rules.Judge(a.Command, a.Dir)
	if err != nil {
		return err
	}
	info, err := s.ws.Root().Stat(c.Dir)
	switch {
	case err != nil:
		return missing(c.Dir, err)
	case !info.IsDir():
		return failed("%s is no directory", c.Dir)
	}
	for _, name := range c.Changes {
		if s.kept(name) {
			return denied("%s is protected: no command changes it", name)
		}
	}
	p.Effect, p.Category, p.Command, p.Reason = c.Effect, sdk.CategoryTerminal, c.Line(), a.Reason
	p.Preview = p.Command
	if c.Dir != "." {
		p.Preview = "in " + c.Dir + ": " + p.Command
	}
	p.run = func(ctx context.Context) (outcome, error) { return s.runTerminal(ctx, a, c) }
	return nil
}

// kept reports whether no command may change what has the name: what is the engine's own, and what a policy protects.
// The kernel sees the paths of the tools for files and not those of commands.
func (s *Set) kept(name string) bool {
	name = strings.ToLower(name)
	return name == ".claude" || strings.HasPrefix(name, ".claude/") ||
		slices.ContainsFunc(s.o.Protected, func(pattern string) bool { return doublestar.MatchUnvalidated(strings.ToLower(pattern), name) })
}

// limit is how long a command may take, all tries together.
func (s *Set) limit(asked int) time.Duration {
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
	if c.Dir != judged.Dir || c.Path != judged.Path {
		return outcome{}, denied("what %q means has changed since the call was judged; ask again", judged.Line())
	}
	limit := s.limit(a.Timeout)
	begin := time.Now()
	var last ran
	var tries []try
	for n := 0; ; n++ {
		if last, err = s.runOnce(ctx, c, limit-time.Since(begin)); err != nil {
			return outcome{}, err
		}
		t := try{ExitCode: last.end.ExitCode, DurationMs: last.end.Duration.Milliseconds()}
		if c.Repeatable && n < len(s.o.Retry) && limit-time.Since(begin) > s.o.Retry[n] {
			t.Cause = last.passing()
		}
		tries = append(tries, t)
		if t.Cause == "" || !s.pause(ctx, n, t.Cause) {
			break
		}
	}
	return s.ended(last, tries, limit, time.Since(begin)), nil
}

// pause waits before the next try and reports whether there is one.
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

// ran is one run of a command.
type ran struct {
	end            cliagent.End
	stdout, stderr *capture
}

func (s *Set) runOnce(ctx context.Context, c command.Command, limit time.Duration) (ran, error) {
	r := ran{stdout: newCapture(s.chars()), stderr: newCapture(s.chars())}
	dir, environ := s.ws.Abs(c.Dir), s.environ
	if c.Args[0] == "git" {
		environ = s.forGit
	}
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: c.Args[0], Path: c.Path, Args: c.Args[1:], Dir: dir, Env: append(slices.Clone(environ), "PWD="+dir),
		Line:       func(line []byte) bool { r.stdout.write(line); return false },
		StderrLine: func(line []byte) { r.stderr.write(line) },
		Timeout:    limit, Grace: s.o.Grace, GroupTerm: true,
	})
	r.end = end
	return r, err
}

// passing is the word in the output of a failed command that stands for a failure which may pass, "" for none.
func (r ran) passing() string {
	if r.end.Clean() || r.end.Cut != cliagent.CutNone {
		return ""
	}
	const near = 8 << 10
	for _, text := range []string{r.stderr.end(near), r.stdout.end(near)} {
		if word := passing.FindString(text); word != "" {
			return word
		}
	}
	return ""
}

// passing are the words for what is different a moment later (seed 002, FR-059).
var passing = regexp.MustCompile(`(?i)connection (?:refused|reset|timed? ?out|closed by remote host)|operation timed out|i/o timeout|TLS handshake timeout|` +
	`gateway time-?out|temporarily unavailable|temporary failure|could not resolve host|network is unreachable|\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN)\b|` +
	`index\.lock'?: File exists|database is locked|text file busy|too many requests|service unavailable`)

// ended is the result of the last try.
func (s *Set) ended(last ran, tries []try, limit, took time.Duration) outcome {
	result := terminalResult{ExitCode: last.end.ExitCode, DurationMs: took.Milliseconds()}
	if len(tries) > 1 {
		result.Tries = tries
	}
	half := s.chars() / 2
	stderr := last.stderr.text(s.o.Redactor)
	var cutErr, cutOut *truncated
	result.Stdout, cutOut = cut(last.stdout.text(s.o.Redactor), s.chars()-min(half, len(stderr)))
	result.Stderr, cutErr = cut(stderr, s.chars()-min(half, len(result.Stdout)))
	result.Truncated = cutOut.add(cutErr).add(last.stdout.lost()).add(last.stderr.lost())
	done := outcome{status: sdk.ToolSuccess}
	switch {
	case last.end.Cut == cliagent.CutTimeout:
		done.status, result.ExitCode = sdk.ToolTimeout, -1
		result.EndedBy = fmt.Sprintf("the time limit of %s; what it said until then is kept", limit)
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
