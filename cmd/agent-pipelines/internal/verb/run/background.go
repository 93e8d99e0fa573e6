package run

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// backgroundHost is the background process of a session, possibly in a tmux pane.
type backgroundHost interface {
	pid() int
	// poll returns the process's exit code; over is false while it runs.
	poll(ctx context.Context) (code int, over bool, err error)
	// output returns the output of the process.
	output(ctx context.Context) (string, error)
	// keepRunning lets the process continue after this process; close releases the resources that waiting needed.
	keepRunning(ctx context.Context) error
	close(ctx context.Context) error
	// describe describes the host for JSON.
	describe() document.Host
	// hints describes the host as text.
	hints(session string) []string
}

// inBackground starts a session in another process. It reports errors of the preflight before it starts the process.
// If the process ends before its start is seen, inBackground prints the process's output and exits with its code.
func inBackground(ctx context.Context, a *cli.App, at authoring.Background, r startRequest) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		prospect, err := r.preflight(ctx, e)
		if err != nil {
			return addPaneHint(ctx, err, at, r.session())
		}
		cli.WriteDiagnostics(a.Stderr, prospect.Warnings)
		earlier, err := kernelStarts(ctx, e, prospect.Session)
		if err != nil {
			return err
		}
		h, err := startHost(ctx, a, e, at, r, prospect.Session)
		if err != nil {
			return err
		}
		err = awaitStart(ctx, a, e, prospect.Session, len(earlier), h)
		return errors.Join(err, h.close(context.WithoutCancel(ctx)))
	})
}

func startHost(ctx context.Context, a *cli.App, e *engine.Engine, at authoring.Background, r startRequest, session string) (backgroundHost, error) {
	if r.Run != nil {
		r.Run.Session = session
	}
	if at == authoring.BackgroundDetach {
		return detach(a, e, r, session)
	}
	return startInTmux(ctx, a, e, r, session)
}

// startPoll is the interval at which awaitStart polls the started process.
const startPoll = 20 * time.Millisecond

// awaitStart waits until the session has started or its process has ended, and prints the result.
func awaitStart(ctx context.Context, a *cli.App, e *engine.Engine, session string, earlier int, h backgroundHost) error {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		code, over, err := h.poll(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case over:
			return reportEnd(ctx, a, e, session, earlier, h, code)
		}
		begun, err := hasBegun(ctx, e, session, earlier, h.pid())
		switch {
		case ctx.Err() != nil:
			return errors.Join(stillStartingError(session, h.pid()), h.keepRunning(context.WithoutCancel(ctx)))
		case err != nil:
			return err
		case begun:
			return reportStart(ctx, a, session, h)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// stillStartingError returns the error for a signal that ends the wait for the start.
func stillStartingError(session string, pid int) error {
	return fmt.Errorf("no longer waiting for session '%s': its process %d is still starting; see `%s status %s`", session, pid, cli.Program, session)
}

// hasBegun reports whether the process pid has locked the session. The first starts, as many as earlier, do not count.
func hasBegun(ctx context.Context, e *engine.Engine, session string, earlier, pid int) (bool, error) {
	pids, err := kernelStarts(ctx, e, session)
	return slices.Contains(pids[min(earlier, len(pids)):], pid), err
}

// reportStart prints where the session runs and how to watch it.
func reportStart(ctx context.Context, a *cli.App, session string, h backgroundHost) error {
	if err := h.keepRunning(ctx); err != nil {
		return err
	}
	if code, over, err := h.poll(ctx); over || err != nil { // the process ended between the last poll and keepRunning
		return errors.Join(err, reportCode(ctx, a, session, h, code))
	}
	if a.JSON {
		a.DocumentLine(document.BackgroundSession{Session: session, Host: h.describe()}, cli.Program+" attach "+session, cli.Program+" status "+session)
		return nil
	}
	for _, line := range h.hints(session) {
		fmt.Fprintln(a.Stdout, line)
	}
	return nil
}

// reportEnd prints the output of a process that ended before its start was seen.
func reportEnd(ctx context.Context, a *cli.App, e *engine.Engine, session string, earlier int, h backgroundHost, code int) error {
	begun, err := hasBegun(ctx, e, session, earlier, h.pid())
	if err != nil {
		return err
	}
	if begun {
		if err := h.keepRunning(ctx); err != nil {
			return err
		}
	}
	return reportCode(ctx, a, session, h, code)
}

// reportCode prints the output of an ended process and sets the exit code of the command to that of the process.
func reportCode(ctx context.Context, a *cli.App, session string, h backgroundHost, code int) error {
	text, err := h.output(ctx)
	if err != nil {
		return err
	}
	a.Code = cli.Exit(code)
	if a.JSON {
		a.DocumentLine(document.BackgroundSession{Session: session, Host: h.describe(), Ended: true, ExitCode: &code, Output: text}, cli.Program+" status "+session)
		return nil
	}
	to := a.Stdout
	if code != 0 {
		to = a.Stderr
	}
	if strings.TrimSpace(text) == "" {
		text = fmt.Sprintf("The process of session '%s' ended with exit code %d and without output.", session, code)
	}
	fmt.Fprintln(to, strings.TrimRight(text, "\n"))
	return nil
}
