package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// errand is a session that is to run elsewhere than in this process.
type errand struct {
	at      engine.Background
	session string // as asked for, "" for one whose name is made up
	force   bool
	check   func(ctx context.Context, e *engine.Engine) (*engine.PreflightResult, error)
	// command are the arguments that run it in the foreground, more flags among them.
	command func(session string, more ...string) []string
}

// host is a process that was started for a session, or the pane that it runs in.
type host interface {
	pid() int
	// ended is its exit code, over false while it runs.
	ended(ctx context.Context) (code int, over bool, err error)
	// printed is what it wrote to its output.
	printed(ctx context.Context) (string, error)
	// keep lets it live on by itself, close does away with what waiting for it needed.
	keep(ctx context.Context) error
	close(ctx context.Context) error
	// place says for programs where it runs.
	place() document.Host
	// hints are for people.
	hints(session string) []string
}

// inBackground starts a session elsewhere. Whatever would keep it from beginning is told here, before
// anything is started; what came up in between is told in the words of the process that met it, with
// its exit code.
func inBackground(a *cli.App, ctx context.Context, job errand) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return a.Use(ctx, func(e *engine.Engine) error {
		prospect, err := job.check(ctx, e)
		if err != nil {
			return whereItRuns(ctx, err, job)
		}
		cli.WriteDiagnostics(a.Stderr, prospect.Warnings)
		last, err := lastEvent(ctx, e, prospect.Session)
		if err != nil {
			return err
		}
		h, err := launch(a, ctx, e, job, prospect.Session)
		if err != nil {
			return err
		}
		err = settle(a, ctx, e, prospect.Session, last, h)
		return errors.Join(err, h.close(context.WithoutCancel(ctx)))
	})
}

func launch(a *cli.App, ctx context.Context, e *engine.Engine, job errand, session string) (host, error) {
	if job.at == engine.BackgroundDetach {
		return detach(e, session, job.command(session))
	}
	return startInTmux(a, ctx, e, job, session)
}

// startPoll is how often a starter looks how the process is getting on.
const startPoll = 20 * time.Millisecond

// settle waits until the session has begun or its process has ended, and says which.
func settle(a *cli.App, ctx context.Context, e *engine.Engine, session string, last int64, h host) error {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		code, over, err := h.ended(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case over:
			return reportEnd(a, ctx, e, session, last, h, code)
		}
		begun, err := hasBegun(ctx, e, session, last, h.pid())
		switch {
		case ctx.Err() != nil:
			return errors.Join(usageStarting(session, h.pid()), h.keep(context.WithoutCancel(ctx)))
		case err != nil:
			return err
		case begun:
			return reportStart(a, ctx, session, h)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// usageStarting is said when nobody wants to wait for the beginning any more.
func usageStarting(session string, pid int) error {
	return fmt.Errorf("not waiting for session '%s' any more: its process %d is still starting; `%s status %s` tells how it got on", session, pid, cli.Program, session)
}

// lastEvent is the number of a session's last event, 0 for a session that is not there yet.
func lastEvent(ctx context.Context, e *engine.Engine, session string) (last int64, err error) {
	err = e.Tail(ctx, session, 1, false, func(ev event.Event) error { last = ev.Seq; return nil })
	if errors.Is(err, engine.ErrNoSession) {
		return 0, nil
	}
	return last, err
}

// hasBegun says whether the process has taken hold of the session since the last event.
func hasBegun(ctx context.Context, e *engine.Engine, session string, last int64, pid int) (begun bool, err error) {
	err = e.Tail(ctx, session, -1, false, func(ev event.Event) error {
		if ev.Seq <= last || ev.Type != event.KernelStart {
			return nil
		}
		var d event.KernelStartData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		begun = begun || d.PID == pid
		return nil
	})
	if errors.Is(err, engine.ErrNoSession) {
		return false, nil
	}
	return begun, err
}

// reportStart says where the session runs and how to look at it.
func reportStart(a *cli.App, ctx context.Context, session string, h host) error {
	if err := h.keep(ctx); err != nil {
		return err
	}
	if code, over, err := h.ended(ctx); over || err != nil { // in this very moment, when nobody minded it
		return errors.Join(err, reportCode(a, ctx, session, h, code))
	}
	if a.JSON {
		a.DocumentLine(document.Started{Session: session, Host: h.place()}, cli.Program+" attach "+session, cli.Program+" status "+session)
		return nil
	}
	for _, line := range h.hints(session) {
		fmt.Fprintln(a.Stdout, line)
	}
	return nil
}

// reportEnd says how a process ended that ended before anybody saw it begin.
func reportEnd(a *cli.App, ctx context.Context, e *engine.Engine, session string, last int64, h host, code int) error {
	begun, err := hasBegun(ctx, e, session, last, h.pid())
	if err != nil {
		return err
	}
	if begun {
		if err := h.keep(ctx); err != nil {
			return err
		}
	}
	return reportCode(a, ctx, session, h, code)
}

// reportCode passes on what an ended process printed, and its exit code.
func reportCode(a *cli.App, ctx context.Context, session string, h host, code int) error {
	text, err := h.printed(ctx)
	if err != nil {
		return err
	}
	a.Code = cli.Exit(code)
	if a.JSON {
		a.DocumentLine(document.Started{Session: session, Host: h.place(), Ended: true, ExitCode: &code, Output: text}, cli.Program+" status "+session)
		return nil
	}
	to := a.Stdout
	if code != 0 {
		to = a.Stderr
	}
	if strings.TrimSpace(text) == "" {
		text = fmt.Sprintf("The process of session '%s' has ended with exit code %d and said nothing.", session, code)
	}
	fmt.Fprintln(to, strings.TrimRight(text, "\n"))
	return nil
}
