package pool

import (
	"context"
	"errors"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const (
	// fallTime is how long after the end of its connection a process may take to be seen as gone.
	fallTime = 500 * time.Millisecond
	// endTime is how long the end of a process that is being ended is waited for: a little longer than that may take.
	endTime = 8 * time.Second
)

// held is one process and the calls on it. The pool's mutex guards what changes.
type held[I Instance] struct {
	instance I
	slot     *slot[I]
	released chan struct{} // hints that a call ended

	next    int
	calls   map[*Lease[I]]bool
	charged *Lease[I] // the call that answers for the end
	hung    bool      // the process was killed because it did not answer
	settled bool      // the end is recorded
	retired bool      // the end was asked for
	leaving bool      // a call on it was given up: it takes no further ones, and ends with the last
}

// Lease is one call on a process.
type Lease[I Instance] struct {
	pool   *Pool[I]
	held   *held[I]
	number int // of the call, within its process
}

// lease is called with the pool's mutex held.
func (h *held[I]) lease(p *Pool[I]) *Lease[I] {
	h.next++
	l := &Lease[I]{pool: p, held: h, number: h.next}
	h.calls[l] = true
	return l
}

func (h *held[I]) ended() bool {
	select {
	case <-h.instance.Done():
		return true
	default:
		return false
	}
}

// leaveSlot makes room for the next process.
func (h *held[I]) leaveSlot() {
	if h.slot.current == h {
		h.slot.current = nil
	}
}

// settle is called with the mutex held, by whoever sees the end first.
func (p *Pool[I]) settle(h *held[I]) {
	if h.settled || h.retired {
		return
	}
	h.settled = true
	h.leaveSlot()
	h.slot.history.fell(time.Now(), h.instance.Crash().Detail)
	for l := range h.calls {
		if h.hung {
			break // charged when it was killed
		}
		if h.charged == nil || l.number > h.charged.number {
			h.charged = l
		}
	}
}

// Instance is the process that the call is made on.
func (l *Lease[I]) Instance() I { return l.held.instance }

// End ends the call, whose error was err, and returns the error that the caller should see: err
// itself, or what the fate of the process makes of it. The process of a call that was cut off or that
// looks broken is asked for a sign of life and killed if it gives none; one that goes on with a call
// that was cancelled is killed in any case.
//
// A process on which a call was cancelled takes no further calls, also where it obeyed: what that call left running
// in it, or outside its group, would be at work beside the next one. It ends with the last call on it, and End
// of that call returns when it, its group and what left the group are gone.
func (l *Lease[I]) End(ctx context.Context, err error) error {
	if err != nil && l.cutOff(ctx) {
		l.release(false)
		return closedFault()
	}
	sound := err == nil || !suspicious(ctx, err) || (!stubborn(ctx, err) && l.alive(ctx))
	if !sound {
		l.bury()
	}
	if ctx.Err() != nil {
		defer l.awaitEnd()
	}
	defer l.release(sound)
	if sound {
		return err
	}
	return l.fate(ctx, err)
}

// awaitEnd lets the process go, of which a call was given up that is released by now, and waits for its end where no
// other call is on it.
func (l *Lease[I]) awaitEnd() {
	l.pool.mu.Lock()
	h := l.held
	h.leaving = true
	h.leaveSlot()
	last := len(h.calls) == 0
	l.pool.mu.Unlock()
	h.hint()
	if last {
		gone(h.instance.Done(), endTime)
	}
}

// cutOff reports whether the pool ended the process under the call. What the plugin says of it then is
// of no use to anybody.
func (l *Lease[I]) cutOff(ctx context.Context) bool {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.held.retired && ctx.Err() == nil
}

// suspicious picks the errors behind which there may be a dead or hung process. Components report
// their own failures over a sound connection, in the same words: hence the question to the process.
func suspicious(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	switch failure.KindOf(err) {
	case failure.ProviderCrashed, failure.ProviderTimeout, failure.Internal:
		return true
	}
	return false
}

// stubborn knows the failure of an attempt that did not end when it was cancelled. It is made at this
// end, so that it has a cause; what a component reports itself has none.
func stubborn(ctx context.Context, err error) bool {
	var f *failure.Error
	return ctx.Err() != nil && errors.As(err, &f) && f.Kind == failure.ProviderTimeout && errors.Is(f.Cause, ctx.Err())
}

// alive reports whether the process answers. One whose connection broke may take a moment to be gone.
func (l *Lease[I]) alive(ctx context.Context) bool {
	h := l.held
	if !h.ended() && h.instance.Alive(context.WithoutCancel(ctx)) {
		return true
	}
	gone(h.instance.Done(), fallTime)
	return false
}

// bury kills a process that should be gone and is not, and charges this call with its end.
func (l *Lease[I]) bury() {
	h := l.held
	if h.ended() {
		return
	}
	l.pool.mu.Lock()
	if !h.hung {
		h.hung, h.charged = true, l
		h.leaveSlot() // nobody else should join it
	}
	l.pool.mu.Unlock()
	h.instance.Kill()
	gone(h.instance.Done(), endTime)
}

// gone waits for the end of a process, at most for limit.
func gone(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// fate is the error of a call whose process is gone.
func (l *Lease[I]) fate(ctx context.Context, err error) error {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	h := l.held
	l.pool.settle(h)
	switch {
	case ctx.Err() != nil:
		return err
	case h.retired: // just now
		return closedFault()
	case h.charged != l:
		f := h.instance.Crash()
		f.Message += ", during another call"
		f.Cause = ErrCollateralFailure
		return f
	case h.hung:
		return h.instance.Hung()
	}
	return h.instance.Crash()
}

func (l *Lease[I]) release(sound bool) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	delete(l.held.calls, l)
	if sound {
		l.held.slot.history.worked()
	}
	l.held.hint()
}

// hint tells whoever watches the process that something about its calls changed.
func (h *held[I]) hint() {
	select {
	case h.released <- struct{}{}:
	default:
	}
}
