package pluginhost

import (
	"context"
	"slices"
	"sync"
)

// sharedUsers are the Hosts that use a process, in the order of their first call. It is safe for concurrent
// use.
type sharedUsers struct {
	mu      sync.Mutex
	all     []*Host
	leaving int // of them
}

// notify notifies all of them.
func (g *sharedUsers) notify(n Notice) {
	g.mu.Lock()
	all := slices.Clone(g.all)
	g.mu.Unlock()
	for _, h := range all {
		h.cfg.Notify(n)
	}
}

// addUser makes h a user of the process, which owner runs, and notifies h once of its start.
func (i *instance) addUser(h, owner *Host) {
	i.users.mu.Lock()
	known, others := slices.Contains(i.users.all, h), len(i.users.all) > 0
	if !known {
		i.users.all = append(i.users.all, h)
	}
	i.users.mu.Unlock()
	if known {
		return
	}
	if h != owner {
		h.sharedCalls.add(i)
	}
	n := i.started
	n.Shared = others
	h.cfg.Notify(n)
}

// removeUser removes a user. The last one waits until the process has ended, so that it is notified of
// survivors.
func (i *instance) removeUser(h *Host, end func()) {
	i.users.mu.Lock()
	i.users.leaving++
	last := i.users.leaving == len(i.users.all)
	i.users.mu.Unlock()
	if last {
		end()
	}
	i.users.mu.Lock()
	defer i.users.mu.Unlock()
	i.users.leaving--
	i.users.all = slices.DeleteFunc(i.users.all, func(g *Host) bool { return g == h })
}

func (i *instance) ended() bool {
	select {
	case <-i.Done():
		return true
	default:
		return false
	}
}

// callTracker tracks the calls of a Host on shared processes. The zero value has none. It is safe for
// concurrent use.
type callTracker struct {
	calls sync.WaitGroup

	mu        sync.Mutex // guards:
	disabled  bool       // the Host shares no process
	closed    bool
	cancels   map[*context.CancelCauseFunc]bool // cancel functions of the calls in flight
	instances []*instance
}

// disable stops the Host from sharing processes.
func (v *callTracker) disable() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.disabled = true
}

func (v *callTracker) isDisabled() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.disabled
}

func (v *callTracker) add(i *instance) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.instances = append(slices.DeleteFunc(v.instances, (*instance).ended), i)
}

// begin is called before a call, and done after it. The context ends with the Host.
func (v *callTracker) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		cancel(nil)
		return nil, nil, closedError()
	}
	if v.cancels == nil {
		v.cancels = map[*context.CancelCauseFunc]bool{}
	}
	v.cancels[&cancel] = true
	v.calls.Add(1)
	return ctx, func() {
		cancel(nil)
		v.mu.Lock()
		delete(v.cancels, &cancel)
		v.mu.Unlock()
		v.calls.Done()
	}, nil
}

// close ends the calls of h and releases the processes; those without other users end, too.
func (v *callTracker) close(ctx context.Context, h *Host, processes *processPool[*instance]) {
	v.mu.Lock()
	v.closed = true
	for cancel := range v.cancels {
		(*cancel)(closedError())
	}
	v.mu.Unlock()
	v.calls.Wait()
	for _, i := range v.instances { // nothing is added any more
		i.removeUser(h, func() { processes.Retire(ctx, func(r *instance) bool { return r == i }) })
	}
}
