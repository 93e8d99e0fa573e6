package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tmux"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Attach is the verb `attach <session>`.
type Attach struct {
	Session string `arg:"" help:"The session to watch."`
	Lines   uint32 `default:"20" placeholder:"N" help:"Number of past events to show first (default 20)."`
	NoTmux  bool   `help:"Follow the events instead of showing the tmux session."`
}

// Run implements [cli.Verb].
func (v *Attach) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		s, err := e.Status(v.Session)
		if err != nil {
			return err
		}
		if shown, err := v.showPane(ctx, a, s); shown || err != nil {
			return errors.Join(err, v.printStatus(a, e))
		}
		return v.follow(ctx, a, e)
	})
}

// showPane attaches to the tmux pane of the session's process, if it has a pane and the terminal is interactive.
func (v *Attach) showPane(ctx context.Context, a *cli.App, s *engine.Status) (shown bool, err error) {
	if v.NoTmux || a.JSON || s.PID == 0 || !a.Interactive() {
		return false, nil
	}
	client, err := tmux.Find()
	if err != nil { // the session does not run in a tmux that this process can reach
		return false, nil //nolint:nilerr // the caller follows the events instead
	}
	panes, err := sessionPanes(ctx, client, v.Session)
	for _, p := range panes {
		if p.PID != s.PID {
			continue
		}
		cmd := client.Attach(p, a.Getenv("TMUX") != "")
		cmd.Stdin, cmd.Stderr = a.Stdin, a.Stderr
		cmd.Stdout, _ = a.OutFile()
		if err := cmd.Run(); err != nil { // tmux printed the reason, such as an unsupported terminal
			fmt.Fprintf(a.Stderr, "Cannot show tmux session '%s' (%v): the events follow instead\n", tmuxName(v.Session), err)
			return false, nil
		}
		return true, nil
	}
	return false, err
}

// follow shows the events until no process holds the session. A signal ends only the display.
func (v *Attach) follow(ctx context.Context, a *cli.App, e *engine.Engine) error {
	ctx, stop := cli.UntilSignal(ctx)
	defer stop()
	view := newView(a, a.Stderr)
	defer view.Close()
	err := e.Follow(ctx, v.Session, int(v.Lines), func(u engine.Update) error {
		if a.JSON {
			return look.PrintEvent(a, *u.Event)
		}
		view.Show(u)
		return nil
	})
	view.Close()
	var signal *cli.Interrupted
	if errors.As(err, &signal) {
		fmt.Fprintf(a.Stderr, "No longer watching; session '%s' continues. `%s attach %s` shows it again.\n", v.Session, cli.Program, v.Session)
		a.Code = cli.ExitOfSignal(signal.Signal)
		return nil
	}
	if err != nil {
		return err
	}
	return v.printStatus(a, e)
}

// printStatus prints the session's status and sets the exit code of the session's own process.
func (v *Attach) printStatus(a *cli.App, e *engine.Engine) error {
	s, err := e.Status(v.Session)
	if err != nil {
		return err
	}
	if s.Locked {
		fmt.Fprintf(a.Stderr, "Session '%s' continues. `%s attach %s` shows it again.\n", v.Session, cli.Program, v.Session)
		return nil
	}
	a.Code, a.OfSession = exitOfStatus(s), true
	switch {
	case (s.Crashed || s.Status == "") && !a.JSON:
		fmt.Fprintf(a.Stdout, "Session '%s' is not running: it %s\n", v.Session, look.StatusText(s))
		if s.ResumeCommand != "" {
			fmt.Fprintln(a.Stdout, "To resume: "+s.ResumeCommand)
		}
	default:
		printResult(a, statusResult(s))
	}
	return nil
}

// statusResult returns the result of a run, derived from its status.
func statusResult(s *engine.Status) *engine.Result {
	r := &engine.Result{
		Session: s.Session, RunID: s.RunID, Status: s.Status, Mode: s.Mode, Reason: s.Reason, PauseKind: s.PauseKind,
		Failure: s.Failure, Completed: s.Completed, Stages: s.Stages, Run: s.Run, Runs: s.Runs, Dir: s.Dir, Usage: s.Usage, ResumeCommand: s.ResumeCommand,
		Questions: s.Questions,
	}
	r.Success = s.Status == state.Completed && (s.Mode != cli.ModeLoop || s.Reason != "max_iterations")
	if s.EndedAt != nil {
		r.Duration = s.EndedAt.Sub(s.StartedAt)
	}
	return r
}

// exitOfStatus returns the exit code of a session's process, derived from its status.
func exitOfStatus(s *engine.Status) cli.Exit {
	if s.Crashed {
		return cli.ExitFailed
	}
	return cli.ExitOfResult(statusResult(s), reasonSignal(s.Reason))
}

// reasonSignal returns the signal in the reason of a pause, SIGINT by default.
func reasonSignal(reason string) os.Signal {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if strings.HasPrefix(reason, cli.SignalName(s)) {
			return s
		}
	}
	return syscall.SIGINT
}
