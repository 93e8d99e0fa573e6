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
// If the process ends before its start is seen, inBackground prints its output and sets
// the command's exit code to that of the process.
func inBackground(ctx context.Context, a *cli.App, at authoring.Background, r startRequest) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		result, err := r.preflight(ctx, e)
		if err != nil {
			return addPaneHint(ctx, err, at, r.session())
		}
		cli.WriteDiagnostics(a.Stderr, result.Warnings)
		s := backgroundStart{app: a, engine: e, session: result.Session}
		earlier, err := kernelStarts(ctx, e, s.session)
		if err != nil {
			return err
		}
		s.earlier = len(earlier)
		if s.host, err = s.startHost(ctx, at, r); err != nil {
			return err
		}
		return errors.Join(s.await(ctx), s.host.close(context.WithoutCancel(ctx)))
	})
}

// backgroundStart is the start of a session in another process.
type backgroundStart struct {
	app     *cli.App
	engine  *engine.Engine
	session string
	earlier int // number of earlier starts of the session
	host    backgroundHost
}

func (s backgroundStart) startHost(ctx context.Context, at authoring.Background, r startRequest) (backgroundHost, error) {
	if r.Run != nil {
		r.Run.Session = s.session
	}
	if at == authoring.BackgroundDetach {
		return detach(s.app, s.engine, r, s.session)
	}
	return tmuxStart{s.app, s.engine, s.session}.start(ctx, r)
}

// startPoll is the interval at which await polls the started process.
const startPoll = 20 * time.Millisecond

// await waits until the session has started or its process has ended, and prints the result.
func (s backgroundStart) await(ctx context.Context) error {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		code, over, err := s.host.poll(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case over:
			return s.reportEnd(ctx, code)
		}
		begun, err := s.hasBegun(ctx)
		switch {
		case ctx.Err() != nil:
			return errors.Join(stillStartingError(s.session, s.host.pid()), s.host.keepRunning(context.WithoutCancel(ctx)))
		case err != nil:
			return err
		case begun:
			return s.reportStart(ctx)
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

// hasBegun reports whether the host's process has locked the session.
func (s backgroundStart) hasBegun(ctx context.Context) (bool, error) {
	pids, err := kernelStarts(ctx, s.engine, s.session)
	return slices.Contains(pids[min(s.earlier, len(pids)):], s.host.pid()), err
}

// reportStart prints where the session runs and how to watch it.
func (s backgroundStart) reportStart(ctx context.Context) error {
	if err := s.host.keepRunning(ctx); err != nil {
		return err
	}
	if code, over, err := s.host.poll(ctx); over || err != nil { // the process ended between the last poll and keepRunning
		return errors.Join(err, s.reportCode(ctx, code))
	}
	if s.app.JSON {
		s.app.DocumentLine(document.BackgroundSession{Session: s.session, Host: s.host.describe()}, cli.Program+" attach "+s.session, cli.Program+" status "+s.session)
		return nil
	}
	for _, line := range s.host.hints(s.session) {
		fmt.Fprintln(s.app.Stdout, line)
	}
	return nil
}

// reportEnd prints the output of a process that ended before its start was seen.
func (s backgroundStart) reportEnd(ctx context.Context, code int) error {
	begun, err := s.hasBegun(ctx)
	if err == nil && begun {
		err = s.host.keepRunning(ctx)
	}
	if err != nil {
		return err
	}
	return s.reportCode(ctx, code)
}

// reportCode prints the output of an ended process and sets the exit code of the command to that of the process.
func (s backgroundStart) reportCode(ctx context.Context, code int) error {
	text, err := s.host.output(ctx)
	if err != nil {
		return err
	}
	a := s.app
	a.Code = cli.Exit(code)
	if a.JSON {
		a.DocumentLine(document.BackgroundSession{Session: s.session, Host: s.host.describe(), Ended: true, ExitCode: &code, Output: text}, cli.Program+" status "+s.session)
		return nil
	}
	to := a.Stdout
	if code != 0 {
		to = a.Stderr
	}
	if strings.TrimSpace(text) == "" {
		text = fmt.Sprintf("The process of session '%s' ended with exit code %d and without output.", s.session, code)
	}
	fmt.Fprintln(to, strings.TrimRight(text, "\n"))
	return nil
}
