package look

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// tailLines is how many lines tail begins with, as in the Bash engine.
const tailLines = 50

// Tail is `tail <session> [lines]`.
type Tail struct {
	Session string `arg:"" help:"The session to read."`
	Count   *int   `arg:"" name:"lines" optional:"" help:"How many of the last events to begin with; 0: only those to come. Default: 50."`
	Lines   *int   `name:"lines" placeholder:"N" help:"The same as a flag."`
	Follow  *bool  `short:"f" negatable:"" help:"Wait for more events, or do not. Default: while the session runs."`
	about
}

// Help is what `help tail` says beside the flags.
func (*Tail) Help() string {
	return `Examples:
  agent-pipelines tail auth 20
  agent-pipelines logs auth --stage build --iteration 3 --with-output
  agent-pipelines logs auth --stage build --follow`
}

func (v *Tail) Run(ctx context.Context, a *cli.App) error {
	if v.lines() < 0 {
		return cli.UsageError("the number of lines cannot be negative", "give a number from 0")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends the process, though nobody reads what it prints
	err := a.Use(ctx, func(e *engine.Engine) error {
		if v.asked() {
			return v.some(ctx, a, e)
		}
		if v.Follow != nil { // as asked, whether anybody works on the session or not
			return e.Tail(ctx, v.Session, v.lines(), *v.Follow, func(e event.Event) error { return PrintEvent(a, e) })
		}
		return e.Follow(ctx, v.Session, v.lines(), func(u engine.Update) error { return PrintEvent(a, *u.Event) })
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // this is how following ends
	}
	return err
}

func (v *Tail) lines() int {
	lines := tailLines
	for _, n := range []*int{v.Count, v.Lines} {
		if n != nil {
			lines = *n
		}
	}
	return lines
}

// PrintEvent prints an event as a line for people, or with --json as it stands in the journal.
func PrintEvent(a *cli.App, e event.Event) error {
	if !a.JSON {
		_, err := fmt.Fprintf(a.Stdout, "[%s] %s\n", e.Time.Local().Format("15:04:05"), screen.Details(e))
		return err
	}
	line, err := e.AppendLine(nil)
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(line)
	return err
}
