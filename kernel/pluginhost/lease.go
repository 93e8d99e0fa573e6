package pluginhost

import (
	"context"
	"errors"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// crashDetectTime is how long after the end of its connection a process may take to be seen as gone.
	crashDetectTime = 500 * time.Millisecond
	// killWait is how long the end of a process that is being ended is waited for: a little longer than that may take.
	killWait = 8 * time.Second
)

// instanceState is one process and the calls on it. The pool's mutex guards what changes.
type instanceState[I pooledInstance] struct {
	instance I
	slot     *slot[I]
	wakeups  chan struct{} // hints that a call ended

	next          int
	calls         map[*lease[I]]bool
	blamed        *lease[I] // the call that answers for the end
	hung          bool      // the process was killed because it did not answer
	crashRecorded bool      // the end is recorded
	retired       bool      // the end was asked for
	draining      bool      // a call on it was given up: it takes no further ones, and ends with the last
}

// lease is one call on a process.
type lease[I pooledInstance] struct {
	pool   *processPool[I]
	state  *instanceState[I]
	number int // of the call, within its process
}

// newLease is called with the pool's mutex held.
func (h *instanceState[I]) newLease(p *processPool[I]) *lease[I] {
	h.next++
	l := &lease[I]{pool: p, state: h, number: h.next}
	h.calls[l] = true
	return l
}

func (h *instanceState[I]) ended() bool {
	select {
	case <-h.instance.Done():
		return true
	default:
		return false
	}
}

// detach makes room for the next process.
func (h *instanceState[I]) detach() {
	if h.slot.current == h {
		h.slot.current = nil
	}
}

// recordCrash is called with the mutex held, by whoever sees the end first.
func (p *processPool[I]) recordCrash(h *instanceState[I]) {
	if h.crashRecorded || h.retired {
		return
	}
	h.crashRecorded = true
	h.detach()
	h.slot.history.add(time.Now(), h.instance.Crash().Detail)
	for l := range h.calls {
		if h.hung {
			break // charged when it was killed
		}
		if h.blamed == nil || l.number > h.blamed.number {
			h.blamed = l
		}
	}
}

// Instance is the process that the call is made on.
func (l *lease[I]) Instance() I { return l.state.instance }

// End ends the call, whose error was err, and returns the error that the caller should see: err
// itself, or what the fate of the process makes of it. The process of a call that was cut off or that
// looks broken is asked for a sign of life and killed if it gives none; one that goes on with a call
// that was cancelled is killed in any case.
//
// A process on which a call was cancelled takes no further calls, also where it obeyed: what that call left running
// in it, or outside its group, would be at work beside the next one. It ends with the last call on it, and End
// of that call returns when it, its group and what left the group are gone.
func (l *lease[I]) End(ctx context.Context, err error) error {
	if err != nil && l.endedByPool(ctx) {
		l.release(false)
		return closedError()
	}
	sound := err == nil || !needsHealthCheck(ctx, err) || (!ignoredCancel(ctx, err) && l.alive(ctx))
	if !sound {
		l.kill()
	}
	if ctx.Err() != nil {
		defer l.awaitEnd()
	}
	defer l.release(sound)
	if sound {
		return err
	}
	return l.callError(ctx, err)
}

// awaitEnd lets the process go, of which a call was given up that is released by now, and waits for its end where no
// other call is on it.
func (l *lease[I]) awaitEnd() {
	l.pool.mu.Lock()
	h := l.state
	h.draining = true
	h.detach()
	last := len(h.calls) == 0
	l.pool.mu.Unlock()
	h.wake()
	if last {
		awaitDone(h.instance.Done(), killWait)
	}
}

// endedByPool reports whether the pool ended the process under the call. What the plugin says of it then is
// of no use to anybody.
func (l *lease[I]) endedByPool(ctx context.Context) bool {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.state.retired && ctx.Err() == nil
}

// needsHealthCheck picks the errors behind which there may be a dead or hung process. Components report
// their own failures over a sound connection, in the same words: hence the question to the process.
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

// ignoredCancel knows the failure of an attempt that did not end when it was cancelled. It is made at this
// end, so that it has a cause; what a component reports itself has none.
func ignoredCancel(ctx context.Context, err error) bool {
	var f *failure.Error
	return ctx.Err() != nil && errors.As(err, &f) && f.Kind == failure.ProviderTimeout && errors.Is(f.Cause, ctx.Err())
}

// alive reports whether the process answers. One whose connection broke may take a moment to be gone.
func (l *lease[I]) alive(ctx context.Context) bool {
	h := l.state
	if !h.ended() && h.instance.Alive(context.WithoutCancel(ctx)) {
		return true
	}
	awaitDone(h.instance.Done(), crashDetectTime)
	return false
}

// kill kills a process that should be gone and is not, and charges this call with its end.
func (l *lease[I]) kill() {
	h := l.state
	if h.ended() {
		return
	}
	l.pool.mu.Lock()
	if !h.hung {
		h.hung, h.blamed = true, l
		h.detach() // nobody else should join it
	}
	l.pool.mu.Unlock()
	h.instance.Kill()
	awaitDone(h.instance.Done(), killWait)
}

// awaitDone waits for the end of a process, at most for limit.
func awaitDone(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// callError is the error of a call whose process is gone.
func (l *lease[I]) callError(ctx context.Context, err error) error {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	h := l.state
	l.pool.recordCrash(h)
	switch {
	case ctx.Err() != nil:
		return err
	case h.retired: // just now
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
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	delete(l.state.calls, l)
	if sound {
		l.state.slot.history.reset()
	}
	l.state.wake()
}

// wake tells whoever watches the process that something about its calls changed.
func (h *instanceState[I]) wake() {
	select {
	case h.wakeups <- struct{}{}:
	default:
	}
}
