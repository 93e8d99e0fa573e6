package pluginhost

import (
	"context"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/pool"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// guests are the Hosts that use a process, in the order in which they came. It is safe for concurrent use.
type guests struct {
	mu      sync.Mutex
	all     []*Host
	leaving int // of them
}

// tell tells all of them.
func (g *guests) tell(n Notice) {
	g.mu.Lock()
	all := slices.Clone(g.all)
	g.mu.Unlock()
	for _, h := range all {
		h.cfg.Notify(n)
	}
}

// enter makes h a guest of the process, which is the owner's, and tells it, once, that there is one.
func (i *instance) enter(h, owner *Host) {
	i.guests.mu.Lock()
	known, others := slices.Contains(i.guests.all, h), len(i.guests.all) > 0
	if !known {
		i.guests.all = append(i.guests.all, h)
	}
	i.guests.mu.Unlock()
	if known {
		return
	}
	if h != owner {
		h.visits.add(i)
	}
	n := i.started
	n.Shared = others
	h.cfg.Notify(n)
}

// leave takes a guest away. The last one waits until the process has ended, so that it is told what was left behind.
func (i *instance) leave(h *Host, end func()) {
	i.guests.mu.Lock()
	i.guests.leaving++
	last := i.guests.leaving == len(i.guests.all)
	i.guests.mu.Unlock()
	if last {
		end()
	}
	i.guests.mu.Lock()
	defer i.guests.mu.Unlock()
	i.guests.leaving--
	i.guests.all = slices.DeleteFunc(i.guests.all, func(g *Host) bool { return g == h })
}

func (i *instance) ended() bool {
	select {
	case <-i.Done():
		return true
	default:
		return false
	}
}

// visits are the calls of a Host on processes that it shares. The zero value has none. It is safe for concurrent use.
type visits struct {
	calls sync.WaitGroup

	mu     sync.Mutex // guards:
	none   bool       // the Host shares no process
	closed bool
	under  map[*context.CancelCauseFunc]bool // what ends the calls under way
	at     []*instance
}

// refuse makes the Host share no process from now on.
func (v *visits) refuse() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.none = true
}

func (v *visits) refused() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.none
}

func (v *visits) add(i *instance) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = append(slices.DeleteFunc(v.at, (*instance).ended), i)
}

// begin is called before a call, and done after it. The context ends with the Host.
func (v *visits) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		cancel(nil)
		return nil, nil, closedFault()
	}
	if v.under == nil {
		v.under = map[*context.CancelCauseFunc]bool{}
	}
	v.under[&cancel] = true
	v.calls.Add(1)
	return ctx, func() {
		cancel(nil)
		v.mu.Lock()
		delete(v.under, &cancel)
		v.mu.Unlock()
		v.calls.Done()
	}, nil
}

// end ends the calls of h and leaves the processes; those that nobody else uses end, too.
func (v *visits) end(ctx context.Context, h *Host, processes *pool.Pool[*instance]) {
	v.mu.Lock()
	v.closed = true
	for cancel := range v.under {
		(*cancel)(closedFault())
	}
	v.mu.Unlock()
	v.calls.Wait()
	for _, i := range v.at { // nothing is added any more
		i.leave(h, func() { processes.Retire(ctx, func(r *instance) bool { return r == i }) })
	}
}

func closedFault() error {
	return failure.New(failure.SignalInterrupt, "no plugin can be called: %w", ErrClosed)
}
