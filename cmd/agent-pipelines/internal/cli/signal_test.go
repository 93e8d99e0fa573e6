package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// stops records the calls of Stop.
type stops []string

func (s *stops) Stop(session string, kind state.PauseKind, reason string) {
	*s = append(*s, session+" "+string(kind)+" "+reason)
}

// U043, U044: the first signal lets the iteration finish, any later signal does not.
func TestSignals(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var engine stops
	var lines []string
	w := WatchSignals(&engine, func(line string) { lines = append(lines, line) }, cancel)
	defer w.Close()
	w.SetSession("demo")

	w.handle(syscall.SIGTERM)
	compare(t, stops{"demo signal SIGTERM"}, engine)
	if ctx.Err() != nil {
		t.Error("the first signal stopped everything at once")
	}
	w.handle(syscall.SIGINT)
	var cause *Interrupted
	if !errors.As(context.Cause(ctx), &cause) || cause.Signal != syscall.SIGINT {
		t.Errorf("the second signal has the cause %v", context.Cause(ctx))
	}
	compare(t, 1, len(engine))
	want := []string{"SIGTERM: finishing the iteration, at most 30 s; press Ctrl-C again to stop now.", "Stopping now."}
	compare(t, want, lines)
	if w.Signal() != syscall.SIGTERM {
		t.Errorf("Signal() = %v, want the first one", w.Signal())
	}
}

// A closed terminal ends a verb as Ctrl-C does, so that it can remove what it began. Under nohup the verb continues until
// another signal.
func TestUntilSignal(t *testing.T) {
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(SignalName(sent), func(t *testing.T) {
			signals := []syscall.Signal{sent}
			if signal.Ignored(sent) {
				signals = append(signals, syscall.SIGTERM)
			}
			ctx, stop := UntilSignal(t.Context())
			defer stop()
			for _, s := range signals {
				if err := syscall.Kill(os.Getpid(), s); err != nil {
					t.Fatal(err)
				}
			}
			<-ctx.Done()
			var cause *Interrupted
			if want := signals[len(signals)-1]; !errors.As(context.Cause(ctx), &cause) || cause.Signal != want {
				t.Errorf("the cause is %v, want %v", context.Cause(ctx), want)
			}
		})
	}
}

func TestSignalBeforeTheSession(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var engine stops
	w := WatchSignals(&engine, func(string) {}, cancel)
	defer w.Close()
	w.handle(syscall.SIGINT)
	if ctx.Err() == nil || len(engine) != 0 {
		t.Errorf("there is nothing to finish, but: context %v, stops %v", ctx.Err(), engine)
	}
}
