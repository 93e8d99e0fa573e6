package pluginhost

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// crashDetectTime is how long a process may exist after the end of its connection.
	crashDetectTime = 500 * time.Millisecond
	// killWait is the time limit for the end of a killed process, a little above the time that the end may take.
	killWait = 8 * time.Second
)

// instanceState is one process and its calls. The pool's mutex guards the fields that change.
type instanceState[I pooledInstance] struct {
	instance I
	slot     *slot[I]
	wakeups  chan struct{} // signals that a call ended
	watched  chan struct{} // closed when the pool no longer watches the process; a crash is then reported

	next          int
	calls         map[*lease[I]]bool
	blamed        *lease[I] // the call that is blamed for the end
	hung          bool      // the process was killed because it did not answer
	crashRecorded bool      // the crash is in the history
	retired       bool      // the end was requested
	draining      bool      // takes no new calls and ends with its last call: a call was cancelled or no user is left
}

// lease is one call on a process.
type lease[I pooledInstance] struct {
	mu     *sync.Mutex // the pool's
	state  *instanceState[I]
	number int // of the call, within its process
}

// newLease returns a lease; the caller holds mu, the pool's mutex.
func (h *instanceState[I]) newLease(mu *sync.Mutex) *lease[I] {
	h.next++
	l := &lease[I]{mu: mu, state: h, number: h.next}
	h.calls[l] = true
	return l
}

func (h *instanceState[I]) ended() bool { return process.HasEnded(h.instance.Done()) }

// awaitEnd waits for the end of the process, at most for limit.
func (h *instanceState[I]) awaitEnd(limit time.Duration) {
	process.AwaitEnd(context.Background(), h.instance.Done(), limit)
}

// detach frees the slot for the next process.
func (h *instanceState[I]) detach() {
	if h.slot.current == h {
		h.slot.current = nil
	}
}

// recordCrash records the end once and chooses the blamed call; the caller holds the mutex.
func (h *instanceState[I]) recordCrash() {
	if h.crashRecorded || h.retired {
		return
	}
	h.crashRecorded = true
	h.detach()
	h.slot.history.add(time.Now(), h.instance.Crash().Detail)
	for l := range h.calls {
		if h.hung {
			break // a call was blamed when the process was killed
		}
		if h.blamed == nil || l.number > h.blamed.number {
			h.blamed = l
		}
	}
}

// Instance returns the process of the call.
func (l *lease[I]) Instance() I { return l.state.instance }

// End ends the call, whose error was err, and returns the caller's error: err, or the error that the state of
// the process implies. If a dead or hung process may be behind err, End checks the process and kills it if it
// does not answer. It also kills a process that may still work on an attempt without a result. The next attempt must not
// run at the same time.
//
// A process with a cancelled call takes no further calls, even if it ended that call, because remaining processes would
// run beside the next call. It ends with its last call; End of that call returns when the process, its group and
// escaped processes are gone.
func (l *lease[I]) End(ctx context.Context, err error) error {
	if err != nil && l.endedByPool(ctx) {
		l.release(false)
		return closedError()
	}
	sound := err == nil || !needsHealthCheck(ctx, err) || l.alive(ctx)
	unfinished := sound && errors.Is(err, client.ErrUnfinished)
	if !sound || unfinished {
		l.kill()
	}
	if ctx.Err() != nil {
		defer l.awaitEnd()
	}
	defer l.release(sound && !unfinished)
	if sound {
		return err
	}
	err = l.callError(ctx, err)
	if ctx.Err() == nil { // the report of the crash precedes the error of the call, in the log and in the journal
		process.AwaitEnd(ctx, l.state.watched, killWait)
	}
	return err
}

// awaitEnd marks the process of a cancelled, released call as draining, and waits for its end if it has no
// other call.
func (l *lease[I]) awaitEnd() {
	l.mu.Lock()
	h := l.state
	h.draining = true
	h.detach()
	last := len(h.calls) == 0
	l.mu.Unlock()
	h.wake()
	if last {
		h.awaitEnd(killWait)
	}
}

// endedByPool reports whether the pool ended the process during the call; the plugin's error is then
// meaningless.
func (l *lease[I]) endedByPool(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.retired && ctx.Err() == nil
}

// needsHealthCheck reports whether a dead or hung process may be behind the error. A component may also
// report a failure of these kinds itself, so only a check of the process can decide.
func needsHealthCheck(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	switch failure.KindOf(err) {
	case failure.ProviderCrashed, failure.ProviderTimeout, failure.Internal:
		return true
	}
	return false
}

// alive reports whether the process answers. A process with a broken connection may need a moment to
// disappear.
func (l *lease[I]) alive(ctx context.Context) bool {
	h := l.state
	if !h.ended() && h.instance.Alive(context.WithoutCancel(ctx)) {
		return true
	}
	h.awaitEnd(crashDetectTime)
	return false
}

// kill kills a process that should have ended, and blames this call.
func (l *lease[I]) kill() {
	h := l.state
	if h.ended() {
		return
	}
	l.mu.Lock()
	if !h.hung {
		h.hung, h.blamed = true, l
		h.detach() // no other call should join it
	}
	l.mu.Unlock()
	h.instance.Kill()
	h.awaitEnd(killWait)
}

// callError returns the error of a call whose process is gone.
func (l *lease[I]) callError(ctx context.Context, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.state
	h.recordCrash()
	switch {
	case ctx.Err() != nil:
		return err
	case h.retired: // since End began
		return closedError()
	case h.blamed != l:
		f := h.instance.Crash()
		f.Message += ", during another call"
		f.Cause = ErrCollateralFailure
		return f
	case h.hung:
		return h.instance.Hung()
	}
	return h.instance.Crash()
}

func (l *lease[I]) release(sound bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.state.calls, l)
	if sound {
		l.state.slot.history.reset()
	}
	l.state.wake()
}

// wake signals the goroutine that watches the process.
func (h *instanceState[I]) wake() {
	select {
	case h.wakeups <- struct{}{}:
	default:
	}
}

// slot holds the process of one [processKey].
type slot[I pooledInstance] struct {
	starting chan struct{} // a token for starting the process

	// The pool's mutex guards current and history.
	current *instanceState[I]
	history crashHistory
}

// pooledInstance is a running process. It must be safe for concurrent use.
type pooledInstance interface {
	// Done is closed when the process is gone.
	Done() <-chan struct{}
	// Alive reports, within a time limit, whether the process answers.
	Alive(ctx context.Context) bool
	// Kill ends the process at once and does not wait.
	Kill()
	// Stop ends the process, within a time limit, and releases its resources.
	Stop(ctx context.Context)
	// Crash returns the failure of the call that caused the end. Hung returns the failure of a call whose process was
	// killed because it did not answer.
	Crash() *failure.Error
	Hung() *failure.Error
}

// ErrCollateralFailure is in the chain of the failure of a call whose process crashed while another call is blamed for
// the crash. A repeated call does not count as an attempt.
var ErrCollateralFailure = errors.New("the process crashed during another call")

// ErrClosed is in the chain of every error of a closed Host.
var ErrClosed = errors.New("the plugin host is closed")

func closedError() error {
	return failure.New(failure.SignalInterrupt, "cannot call a plugin: %w", ErrClosed)
}
