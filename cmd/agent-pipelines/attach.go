package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tmux"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// attachVerb is `attach <session>`.
type attachVerb struct {
	Session string `arg:"" help:"The session to watch."`
	Lines   int    `default:"20" placeholder:"N" help:"How many of the last events to begin with. Default: 20."`
	NoTmux  bool   `help:"Follow the events, even where there is a tmux session to be shown."`
}

func (v *attachVerb) run(ctx context.Context, a *app) error {
	if v.Lines < 0 {
		return usageError("the number of lines cannot be negative", "give a number from 0")
	}
	return a.use(ctx, func(e *engine.Engine) error {
		s, err := e.Status(v.Session)
		if err != nil {
			return err
		}
		if shown, err := v.showPane(ctx, a, s); shown || err != nil {
			return errors.Join(err, v.settle(a, e))
		}
		return v.follow(ctx, a, e)
	})
}

// showPane shows the tmux pane that the session's kernel runs in, if it does and somebody can look.
func (v *attachVerb) showPane(ctx context.Context, a *app, s *engine.Status) (shown bool, err error) {
	if v.NoTmux || a.JSON || s.PID == 0 || !a.interactive() {
		return false, nil
	}
	client, err := tmux.Find()
	if err != nil { // then it is not in tmux, or not in ours
		return false, nil //nolint:nilerr // its events are followed instead
	}
	panes, err := panesOf(ctx, client, v.Session)
	for _, p := range panes {
		if p.PID != s.PID {
			continue
		}
		cmd := client.Attach(p, a.getenv("TMUX") != "")
		cmd.Stdin, cmd.Stderr = a.stdin, a.stderr
		cmd.Stdout, _ = a.outFile()
		if err := cmd.Run(); err != nil { // tmux has said why, such as a terminal that it cannot use
			fmt.Fprintf(a.stderr, "Following the events instead of tmux '%s' (%v)\n", tmuxName(v.Session), err)
			return false, nil
		}
		return true, nil
	}
	return false, err
}

// follow shows what happens until nobody holds the session. Signals end the following and nothing else.
func (v *attachVerb) follow(ctx context.Context, a *app, e *engine.Engine) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	done := make(chan struct{})
	defer close(done)
	waiting.Go(func() {
		select {
		case s := <-signals:
			signal.Stop(signals) // a second one ends the process, though nobody reads what it prints
			cancel(&interrupted{signal: s})
		case <-done:
		}
	})
	view := a.view(a.stderr)
	defer view.Close()
	err := e.Follow(ctx, v.Session, v.Lines, func(u engine.Update) error {
		if a.JSON {
			return a.printEvent(*u.Event)
		}
		view.Show(u)
		return nil
	})
	view.Close()
	var stop *interrupted
	if errors.As(err, &stop) {
		fmt.Fprintf(a.stderr, "Not watching any more; session '%s' goes on. `%s attach %s` shows it again.\n", v.Session, program, v.Session)
		a.code = exitOfSignal(stop.signal)
		return nil
	}
	if err != nil {
		return err
	}
	return v.settle(a, e)
}

// settle says how the session stands, and ends with the exit code that its own process has.
func (v *attachVerb) settle(a *app, e *engine.Engine) error {
	s, err := e.Status(v.Session)
	if err != nil {
		return err
	}
	if s.Held {
		fmt.Fprintf(a.stderr, "Session '%s' goes on. `%s attach %s` shows it again.\n", v.Session, program, v.Session)
		return nil
	}
	a.code, a.ofSession = exitOfStatus(s), true
	switch {
	case (s.Crashed || s.Status == "") && !a.JSON:
		fmt.Fprintf(a.stdout, "Session '%s' is not running: it %s\n", v.Session, condition(s))
		if s.ResumeCommand != "" {
			fmt.Fprintln(a.stdout, "To resume: "+s.ResumeCommand)
		}
	default:
		a.printResult(resultOf(s))
	}
	return nil
}

// resultOf is the result of a run as far as its status tells.
func resultOf(s *engine.Status) *engine.Result {
	r := &engine.Result{
		Session: s.Session, RunID: s.RunID, Status: s.Status, Mode: s.Mode, Reason: s.Reason, PauseKind: s.PauseKind,
		Failure: s.Failure, Completed: s.Completed, Stages: s.Stages, Run: s.Run, Runs: s.Runs, Dir: s.Dir, Usage: s.Usage, ResumeCommand: s.ResumeCommand,
		Questions: s.Questions,
	}
	r.Success = s.Status == state.Completed && (s.Mode != modeLoop || s.Reason != "max_iterations")
	if s.EndedAt != nil {
		r.Duration = s.EndedAt.Sub(s.StartedAt)
	}
	return r
}

// exitOfStatus is the code that the process of a session ended with, as far as the journal tells.
func exitOfStatus(s *engine.Status) exit {
	if s.Crashed {
		return exitFailed
	}
	return exitOfResult(resultOf(s), signalNamed(s.Reason))
}

// signalNamed is the signal that a pause by signal has as its reason.
func signalNamed(reason string) os.Signal {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if strings.HasPrefix(reason, signalName(s)) {
			return s
		}
	}
	return syscall.SIGINT
}
