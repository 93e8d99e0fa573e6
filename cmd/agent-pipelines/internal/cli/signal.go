package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// stopper pauses a session that runs in this process.
type stopper interface {
	Stop(session string, kind state.PauseKind, reason string)
}

// SignalWatcher handles the signals of a running session: the first signal pauses it, any later signal stops it. Before
// the session is known, the first signal stops the run, too. It is safe for concurrent use.
type SignalWatcher struct {
	engine stopper
	print  func(string)
	cancel context.CancelCauseFunc

	incoming chan os.Signal
	pipes    chan os.Signal
	done     chan struct{}
	reader   sync.WaitGroup
	Release  func() // restores the default action of signals: each ends the process

	mu      sync.Mutex // guards the fields below
	session string     // "" until it is known
	first   os.Signal  // nil before the first signal
}

// WatchSignals starts to handle the signals of [notifyEnd]. It also keeps SIGPIPE from ending the process: with `| tee log`, the
// first Ctrl-C ends tee, but the iteration must still finish. The caller closes the watcher.
func WatchSignals(engine stopper, report func(string), cancel context.CancelCauseFunc) *SignalWatcher {
	w := &SignalWatcher{
		engine: engine, print: report, cancel: cancel,
		incoming: make(chan os.Signal, 4), pipes: make(chan os.Signal, 1), done: make(chan struct{}),
	}
	notifyEnd(w.incoming)
	signal.Notify(w.pipes, syscall.SIGPIPE) // never read: the error of the write is enough
	w.Release = sync.OnceFunc(func() {
		signal.Stop(w.incoming)
		close(w.done)
		w.reader.Wait()
	})
	w.reader.Go(w.read)
	return w
}

func (w *SignalWatcher) read() {
	for {
		select {
		case <-w.done:
			return
		case s := <-w.incoming:
			w.handle(s)
		}
	}
}

// handle handles one signal.
func (w *SignalWatcher) handle(s os.Signal) {
	w.mu.Lock()
	session, again := w.session, w.first != nil
	if !again {
		w.first = s
	}
	w.mu.Unlock()
	if again || session == "" {
		w.print("Stopping now.")
		w.cancel(&Interrupted{Signal: s})
		return
	}
	w.print(fmt.Sprintf("%s: finishing the iteration, at most 30 s; press Ctrl-C again to stop now.", SignalName(s)))
	w.engine.Stop(session, state.PauseSignal, SignalName(s))
}

// SetSession sets the session that the first signal pauses.
func (w *SignalWatcher) SetSession(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = session
}

// Signal returns the first signal received, nil for none.
func (w *SignalWatcher) Signal() os.Signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

// Close stops handling signals.
func (w *SignalWatcher) Close() {
	w.Release()
	signal.Stop(w.pipes)
}

// UntilSignal returns a context that a signal of [notifyEnd] ends, with an [Interrupted] as its cause. Afterwards signals have
// their default action. The caller calls stop.
func UntilSignal(ctx context.Context) (until context.Context, stop func()) {
	until, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	notifyEnd(signals)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		defer signal.Stop(signals) // a second signal ends this process, even if its output blocks
		select {
		case s := <-signals:
			cancel(&Interrupted{Signal: s})
		case <-until.Done():
		}
	})
	return until, func() {
		cancel(nil)
		waiting.Wait()
	}
}

// notifyEnd relays SIGINT, SIGTERM and, unless nohup ignores it, SIGHUP, which a closed terminal sends.
func notifyEnd(to chan<- os.Signal) {
	signal.Notify(to, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(to, syscall.SIGHUP)
	}
}
