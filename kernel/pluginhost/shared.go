package pluginhost

import (
	"context"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// sharedUsers are the Hosts that use a process, in the order of their first call. It is safe for concurrent
// use.
type sharedUsers struct {
	mu      sync.Mutex
	all     []*Host
	leaving int // of them
}

// notify notifies all of them.
func (u *sharedUsers) notify(n Notice) {
	u.mu.Lock()
	all := slices.Clone(u.all)
	u.mu.Unlock()
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
	i.users.all = slices.DeleteFunc(i.users.all, func(user *Host) bool { return user == h })
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
func (t *callTracker) disable() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disabled = true
}

func (t *callTracker) isDisabled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disabled
}

func (t *callTracker) add(i *instance) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.instances = append(slices.DeleteFunc(t.instances, func(i *instance) bool { return process.HasEnded(i.Done()) }), i)
}

// begin is called before a call, and done after it. The context ends with the Host.
func (t *callTracker) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		cancel(nil)
		return nil, nil, closedError()
	}
	if t.cancels == nil {
		t.cancels = map[*context.CancelCauseFunc]bool{}
	}
	t.cancels[&cancel] = true
	t.calls.Add(1)
	return ctx, func() {
		cancel(nil)
		t.mu.Lock()
		delete(t.cancels, &cancel)
		t.mu.Unlock()
		t.calls.Done()
	}, nil
}

// close ends the calls of h and releases the processes; those without other users end, too.
func (t *callTracker) close(ctx context.Context, h *Host, processes *processPool[*instance]) {
	t.mu.Lock()
	t.closed = true
	for cancel := range t.cancels {
		(*cancel)(closedError())
	}
	t.mu.Unlock()
	t.calls.Wait()
	for _, i := range t.instances { // no more are added
		i.removeUser(h, func() { processes.Retire(ctx, func(r *instance) bool { return r == i }) })
	}
}
