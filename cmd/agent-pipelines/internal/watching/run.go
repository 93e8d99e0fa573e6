package watching

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// Run shows a session until the user leaves, ctx ends or the session cannot be read. It restores the terminal when it
// returns, also in a panic. The error is a [cli.Interrupted] after a signal or Ctrl-C, the cause of ctx, or an error of the engine.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel(nil)
	now, away := time.Now(), &atomic.Bool{}
	f := newFeed(o.Engine, o.Session, o.Silent, now)
	t := &terminal{ui: tea.NewProgram(program{Options: o, ctx: ctx, feed: f, now: now, away: away},
		tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ), tea.WithFPS(10), tea.WithoutSignalHandler())}
	background.Go(func() { watchSignals(ctx, cancel, away) })
	background.Go(func() {
		defer t.restore()
		f.run(ctx)
	})
	select {
	case <-f.first:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := f.failed(); err != nil {
		return err // nothing is drawn yet
	}
	end, err := t.run()
	f.resetTitle(o.Out)
	last, ok := end.(program)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ok && last.interrupted:
		return &cli.Interrupted{Signal: syscall.SIGINT}
	default:
		return errors.Join(f.failed(), err)
	}
}

// watchSignals calls cancel at a signal. While another program has the terminal, Ctrl-C is for that program.
func watchSignals(ctx context.Context, cancel context.CancelCauseFunc, away *atomic.Bool) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			if s != syscall.SIGINT || !away.Load() {
				cancel(&cli.Interrupted{Signal: s})
				return
			}
		}
	}
}

// terminal runs a program on a terminal.
type terminal struct {
	ui      *tea.Program
	running atomic.Bool
}

func (t *terminal) run() (tea.Model, error) {
	t.running.Store(true)
	defer t.running.Store(false)
	return t.ui.Run()
}

// restore restores the terminal before a panic ends the process.
func (t *terminal) restore() {
	fault := recover()
	if fault == nil {
		return
	}
	if t.running.Load() {
		t.ui.Kill()
		t.ui.Wait()
	}
	panic(fault)
}
