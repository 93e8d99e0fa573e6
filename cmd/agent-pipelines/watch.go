package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/watching"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// watchVerb is `watch <session>`.
type watchVerb struct {
	Session string `arg:"" help:"The session to watch; it may run anywhere, wait, or have ended."`
}

// Help is what `help watch` says beside the flags.
func (v *watchVerb) Help() string {
	return `Keys: arrows or j and k select, p pauses, a approves (twice), r rejects with feedback, f follows, o opens a file in
$EDITOR or $PAGER, ? explains, q leaves. The session goes on without being watched.

Examples:
  agent-pipelines watch auth
  agent-pipelines loop work auth --detach && agent-pipelines watch auth`
}

func (v *watchVerb) run(ctx context.Context, a *app) error {
	in, reads := a.stdin.(*os.File)
	out, writes := a.outFile()
	switch {
	case a.JSON:
		return usageError("watch draws a screen and prints no JSON", "`%s tail %s --json` prints the events, `%s status %s --json` how it stands", program, v.Session, program, v.Session)
	case !reads || !writes || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || !a.fullScreen():
		return usageError("watch needs a terminal, at standard input and output", "`%s tail %s` follows the events without one, `%s status %s` shows how the session stands", program, v.Session, program, v.Session)
	}
	viewer := a.getenv("EDITOR")
	if viewer == "" {
		viewer = a.getenv("PAGER")
	}
	return a.use(ctx, func(e *engine.Engine) error {
		err := watching.Run(ctx, watching.Options{
			Engine: e, Session: v.Session, By: a.user(), In: in, Out: out, Environ: os.Environ(), Color: a.colored(), Viewer: viewer,
			Attention: screen.AttentionOf(a.getenv),
		})
		var end *watching.Signal
		if err != nil && !errors.As(err, &end) {
			return err
		}
		if end != nil {
			a.code = exitOfSignal(end.Signal)
		}
		if s, err := e.Status(v.Session); err == nil {
			v.leave(a, s)
		}
		return nil
	})
}

// leave says how the session stands that nobody watches any more.
func (v *watchVerb) leave(a *app, s *engine.Status) {
	if s.Held {
		fmt.Fprintf(a.stderr, "Session '%s' goes on. `%s watch %s` shows it again.\n", v.Session, program, v.Session)
		return
	}
	fmt.Fprintf(a.stderr, "Session '%s': %s\n", v.Session, condition(s))
	writeResume(a.stderr, s.ResumeCommand)
}
