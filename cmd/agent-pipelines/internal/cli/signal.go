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

// Watch turns signals into the end of a session: the first asks it to pause, any later one stops it.
// It is safe for concurrent use.
type Watch struct {
	engine stopper
	say    func(string)
	cancel context.CancelCauseFunc

	incoming chan os.Signal
	pipes    chan os.Signal
	done     chan struct{}
	reader   sync.WaitGroup
	Release  func() // leaves signals to the system again: each ends the process

	mu      sync.Mutex
	session string    // "" until it is known
	first   os.Signal // nil while none came
	left    bool      // another program has the keyboard
}

// WatchSignals begins to listen for SIGINT and SIGTERM, and for SIGHUP, which a terminal sends that
// is closed, unless nohup had it ignored. It also keeps SIGPIPE from ending the process: with
// `| tee log`, the first Ctrl-C ends tee, and the iteration shall finish all the same. The caller
// closes the watch.
func WatchSignals(engine stopper, say func(string), cancel context.CancelCauseFunc) *Watch {
	w := &Watch{
		engine: engine, say: say, cancel: cancel,
		incoming: make(chan os.Signal, 4), pipes: make(chan os.Signal, 1), done: make(chan struct{}),
	}
	signal.Notify(w.incoming, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(w.incoming, syscall.SIGHUP)
	}
	signal.Notify(w.pipes, syscall.SIGPIPE) // nobody reads them: the write's own error is enough
	w.Release = sync.OnceFunc(func() {
		signal.Stop(w.incoming)
		close(w.done)
		w.reader.Wait()
	})
	w.reader.Go(w.read)
	return w
}

func (w *Watch) read() {
	for {
		select {
		case <-w.done:
			return
		case s := <-w.incoming:
			w.Take(s)
		}
	}
}

// Take acts on one signal.
func (w *Watch) Take(s os.Signal) {
	w.mu.Lock()
	if w.left && s == syscall.SIGINT {
		w.mu.Unlock()
		return
	}
	session, again := w.session, w.first != nil
	if !again {
		w.first = s
	}
	w.mu.Unlock()
	if again || session == "" {
		w.say("Stopping now.")
		w.cancel(&Interrupted{Signal: s})
		return
	}
	w.say(fmt.Sprintf("%s: finishing the iteration, at most 30 s; press Ctrl-C again to stop now.", SignalName(s)))
	w.engine.Stop(session, state.PauseSignal, SignalName(s))
}

// Runs tells the watch which session runs.
func (w *Watch) Runs(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session = session
}

// Leave leaves Ctrl-C to another program at the keyboard, or takes it back.
func (w *Watch) Leave(left bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = left
}

// Signal is the first signal that came, nil for none.
func (w *Watch) Signal() os.Signal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

// Close stops listening.
func (w *Watch) Close() {
	w.Release()
	signal.Stop(w.pipes)
}

func SignalName(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	default:
		return s.String()
	}
}
