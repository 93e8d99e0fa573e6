package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// perform runs a session in the foreground: it shows progress, handles signals, prompts for answers if a user is at the
// terminal, and prints the result.
//
// The output during the run never waits for a reader; the result does, after everything else has ended.
func perform(ctx context.Context, a *cli.App, r startRequest) error {
	out := screen.NewBoundedWriter(a.Stderr)
	defer out.Close()
	v := newView(a, out)
	defer v.Close()
	eng, err := a.Engine(v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := cli.WatchSignals(eng, v.WriteLine, cancel)
	defer w.Close()
	if a.Mocked() { // the view names the providers and models of the plan
		v.WriteLine("MOCK_MODE: the mock answers in the place of every provider.")
	}
	if r.Run != nil && r.Run.Pipeline != "" {
		v.WriteLine("Compiling plan.json...")
	}
	for _, line := range ignoredDirs(ctx, eng) {
		v.WriteLine(line)
	}
	ask := (&prompter{app: a, engine: eng, out: out, view: v}).start(ctx, r.waits())
	summary := newStepSummary(a)
	var lines *screen.EventLines
	if a.JSON {
		lines = screen.NewEventLines(a.Stdout)
	}
	sent, logged := a.Telemetry(ctx, eng, v.WriteLine), eventLogger{cli.NewLogger(a.GlobalFlags, v)}
	result, err := r.run(ctx, eng, r.waits() || ask != nil, func(u engine.Update) {
		w.SetSession(u.Session)
		ask.observe(u)
		summary.observe(u)
		sent.Observe(u)
		logged.observe(u)
		lines.Observe(u)
		if !a.JSON { // JSON has the warnings in the result
			cli.WriteDiagnostics(v, u.Warnings)
		}
		v.Show(u)
	})
	ask.close()
	sent.Close()
	err = errors.Join(err, cli.CloseEngine(ctx, eng))
	if err := summary.write(resumeCommand(result)); err != nil {
		v.WriteLine("Warning: " + err.Error())
	}
	v.Close()
	w.Release()
	lines.Close() // may block until the reader reads; after w.Release a signal ends the process
	limit := flushLimit(a)
	out.Flush(limit)
	if err != nil {
		return signalError(ctx, err)
	}
	a.Code, a.OfSession = cli.ExitOfResult(result, w.Signal()), true
	ended := *a
	ended.Stderr = flushingWriter{out, limit}
	printResult(&ended, result)
	return nil
}

// resumeCommand returns the command that resumes a run, "" for none.
func resumeCommand(r *engine.Result) string {
	if r == nil {
		return ""
	}
	return r.ResumeCommand
}

// flushingWriter is a [screen.BoundedWriter] that flushes after each write, for at most the limit.
type flushingWriter struct {
	*screen.BoundedWriter
	limit time.Duration
}

// Write implements [io.Writer].
func (f flushingWriter) Write(b []byte) (int, error) {
	n, err := f.BoundedWriter.Write(b)
	f.Flush(f.limit)
	return n, err
}

// maxFlushWait bounds the time that the end of a run waits for a blocked reader of standard error.
const maxFlushWait = 2 * time.Second

// flushLimit returns how long to wait for the reader of standard error: without a limit (0) if standard output is the same
// file, because the result must follow the rest of the output.
func flushLimit(a *cli.App) time.Duration {
	if stderr, ok := a.Stderr.(*os.File); ok {
		if stdout, ok := a.OutFile(); ok && sameFile(stderr, stdout) {
			return 0
		}
	}
	return maxFlushWait
}

func sameFile(a, b *os.File) bool {
	infoA, errA := a.Stat()
	infoB, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// ignoredDirs returns one line per ignored plugin directory, so that the user learns of plugins in a repository. If the
// plugins cannot be listed, it returns none: the run reports the error.
func ignoredDirs(ctx context.Context, e *engine.Engine) []string {
	listing, err := cli.ListPlugins(ctx, e)
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

// signalError replaces an error that a signal caused by the signal.
func signalError(ctx context.Context, err error) error {
	var signal *cli.Interrupted
	if errors.As(context.Cause(ctx), &signal) && errors.Is(err, context.Canceled) {
		return signal
	}
	return err
}
