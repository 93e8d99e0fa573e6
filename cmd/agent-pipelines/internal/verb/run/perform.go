package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// view shows a session while it runs. What is logged is written through it too.
type view interface {
	io.Writer
	Show(u engine.Update)
	Say(line string)
	// Hold keeps back what is written, and Release lets it through: meanwhile the terminal is somebody else's.
	Hold()
	Release()
	Close()
}

// work runs or resumes a session and reports all that happens to observe. With wait it waits for answers to questions,
// instead of pausing.
type work func(ctx context.Context, e *engine.Engine, wait bool, observe func(engine.Update)) (*engine.Result, error)

// perform runs a session in the foreground: with a view, with signals, with a prompt for questions where somebody is
// there, and with the result printed at the end. wait waits for answers whoever is there; say are lines for the view
// before anything else.
//
// What is said while it runs never waits for a reader; the result does, after everything else has ended.
func perform(a *cli.App, ctx context.Context, wait bool, do work, say ...string) error {
	out := screen.NewRelay(a.Stderr)
	defer out.Close()
	v := newView(a, out)
	defer v.Close()
	eng, err := a.Engine(v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := cli.WatchSignals(eng, v.Say, cancel)
	defer w.Close()
	if a.Mocked() { // what is told of providers and models below is the plan's
		v.Say("MOCK_MODE: the mock answers in the place of every provider.")
	}
	for _, line := range append(say, ignoredDirs(ctx, eng)...) {
		v.Say(line)
	}
	ask, summary, lines := newAsker(a, ctx, eng, out, v, w, wait), newStepSummary(a), NewEventLines(a)
	sent, logged := a.Telemetry(ctx, eng, v.Say), records{cli.NewLogger(a.GlobalFlags, v)}
	result, err := do(ctx, eng, wait || ask != nil, func(u engine.Update) {
		w.Runs(u.Session)
		ask.observe(u)
		summary.observe(u)
		sent.Observe(u)
		logged.observe(u)
		lines.Observe(u)
		if !a.JSON { // else the result has them
			cli.WriteDiagnostics(v, u.Warnings)
		}
		v.Show(u)
	})
	ask.close()
	sent.Close()
	err = errors.Join(err, cli.Shut(ctx, eng))
	if err := summary.write(resumeOf(result)); err != nil {
		v.Say("Warning: " + err.Error())
	}
	v.Close()
	w.Release()
	lines.Close() // a signal ends the process, if their reader does not
	limit := lastWords(a)
	out.Flush(limit)
	if err != nil {
		return stopped(ctx, err)
	}
	a.Code, a.OfSession = cli.ExitOfResult(result, w.Signal()), true
	ended := *a
	ended.Stderr = flushing{out, limit}
	printResult(&ended, result)
	return nil
}

// resumeOf is how to go on with a run, "" where there is none, or nothing to go on with.
func resumeOf(r *engine.Result) string {
	if r == nil {
		return ""
	}
	return r.ResumeCommand
}

// flushing is a relay that has passed on what was written when the write ends, if its reader takes it within the limit.
type flushing struct {
	*screen.Relay
	limit time.Duration
}

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.Relay.Write(b)
	f.Flush(f.limit)
	return n, err
}

// lastWordsLimit is how long the end of a run waits for a reader of standard error that takes nothing.
const lastWordsLimit = 2 * time.Second

// lastWords is how long to wait for the reader of what was said: for as long as it takes where the same one reads the
// result, which is written in full and not before the rest.
func lastWords(a *cli.App) time.Duration {
	if said, ok := a.Stderr.(*os.File); ok {
		if result, ok := a.OutFile(); ok && sameFile(said, result) {
			return 0
		}
	}
	return lastWordsLimit
}

func sameFile(a, b *os.File) bool {
	of, err := a.Stat()
	other, otherErr := b.Stat()
	return err == nil && otherErr == nil && os.SameFile(of, other)
}

// ignoredDirs says in a line each which plugin directories are not used and why: what a repository
// tried to bring must not be passed over in silence. Plugins that cannot be listed show in the run.
func ignoredDirs(ctx context.Context, e *engine.Engine) []string {
	listing, err := e.Plugins(ctx)
	if err != nil {
		return nil
	}
	var lines []string
	for _, ignored := range listing.Ignored {
		for _, place := range listing.Searched {
			if place.Dir == ignored.Path {
				lines = append(lines, fmt.Sprintf("Plugins ignored: %s is %s", ignored.Path, ignored.Reason))
			}
		}
	}
	return lines
}

// stopped puts the signal that ended everything in the place of what it led to.
func stopped(ctx context.Context, err error) error {
	var signal *cli.Interrupted
	if errors.As(context.Cause(ctx), &signal) && errors.Is(err, context.Canceled) {
		return signal
	}
	return err
}

// newView is what fits standard error: nothing with --quiet, live lines on a terminal, else plain ones.
func newView(a *cli.App, out io.Writer) view {
	if a.Quiet {
		return silent{out}
	}
	fd, terminal := a.Terminal()
	switch {
	case !terminal && gitHub(a):
		return screen.NewGitHub(out, a.Verbose)
	case !terminal:
		return screen.NewPlain(out, a.Verbose)
	}
	return screen.NewLive(out, screen.LiveOptions{
		Below: &tree.Model{}, Color: a.Colored(), Verbose: a.Verbose, Attention: screen.AttentionOf(a.Getenv),
		Size: func() (width, height int) {
			width, height, err := term.GetSize(fd)
			if err != nil {
				return 0, 0
			}
			return width, height
		},
	})
}

// silent shows nothing but what is logged.
type silent struct{ io.Writer }

func (silent) Show(engine.Update) {}
func (silent) Say(string)         {}
func (silent) Hold()              {}
func (silent) Release()           {}
func (silent) Close()             {}
