package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/watching"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Watch is the verb `watch <session>`.
type Watch struct {
	Session string `arg:"" help:"The session to watch: running, paused or ended."`
}

// Help returns the text below the usage.
func (v *Watch) Help() string {
	return `Keys: arrows or j and k select, p pauses, a approves (twice), r rejects with feedback, f follows, o opens a file in
$EDITOR or $PAGER, ? shows help, q quits. The session continues after q.`
}

// Run implements [cli.Verb].
func (v *Watch) Run(ctx context.Context, a *cli.App) error {
	in, reads := a.Stdin.(*os.File)
	out, writes := a.OutFile()
	switch {
	case a.JSON:
		return cli.UsageError("watch draws a screen and prints no JSON", "`%s tail %s --json` prints the events, `%s status %s --json` the status", cli.Program, v.Session, cli.Program, v.Session)
	case !reads || !writes || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || !a.FullScreen():
		return cli.UsageError("watch needs a terminal, at standard input and output", "`%s tail %s` follows the events without one, `%s status %s` shows the status", cli.Program, v.Session, cli.Program, v.Session)
	}
	viewer := cmp.Or(a.Getenv("EDITOR"), a.Getenv("PAGER"))
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		err := watching.Run(ctx, watching.Options{
			Engine: e, Session: v.Session, By: a.User(), In: in, Out: out, Environ: os.Environ(), Color: a.Colored(), Viewer: viewer,
			Silent: screen.IsSilent(a.Getenv),
		})
		var end *cli.Interrupted
		if err != nil && !errors.As(err, &end) {
			return err
		}
		if end != nil {
			a.Code = cli.ExitOfSignal(end.Signal)
		}
		if s, err := e.Status(v.Session); err == nil {
			v.printStatus(a, s)
		}
		return nil
	})
}

// printStatus prints the session's status after the screen is closed.
func (v *Watch) printStatus(a *cli.App, s *engine.Status) {
	if s.Locked {
		fmt.Fprintf(a.Stderr, "Session '%s' continues. `%s watch %s` shows it again.\n", v.Session, cli.Program, v.Session)
		return
	}
	fmt.Fprintf(a.Stderr, "Session '%s': %s\n", v.Session, StatusText(s))
	WriteResume(a.Stderr, s.ResumeCommand)
}
