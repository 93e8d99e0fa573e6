package pluginhost

import (
	"context"
	"slices"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
)

// pluginProcess is a plugin process started by this program or another program.
type pluginProcess interface {
	pooledInstance
	Client() *client.Client
	Command() string
	PID() int
}

// instance is a running plugin with the guards of its components.
type instance struct {
	pluginProcess
	sha256      string
	environment []string // names
	init        sdk.InitRequest
	started     Notice // of its start
	users       sharedUsers

	mu     sync.Mutex
	guards map[string]*callGuard // by kind and name
}

func (i *instance) guard(component sdk.Component) *callGuard {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := string(component.Kind) + " " + component.Name
	g, ok := i.guards[id]
	if !ok {
		g = newCallGuard(component, proxy(i.Client(), component), i.init)
		i.guards[id] = g
	}
	return g
}

func proxy(c *client.Client, component sdk.Component) any {
	switch component.Kind {
	case sdk.KindTermination:
		return c.Termination(component)
	case sdk.KindHookAction:
		return c.HookAction(component)
	default:
		return c.Provider(component)
	}
}

// sharedUsers holds the users of a process, in the order of their first call. It is safe for concurrent use.
type sharedUsers struct {
	mu      sync.Mutex
	all     []*processUser
	leaving int // number of users that are leaving
}

// notify sends a notice to all users.
func (u *sharedUsers) notify(n Notice) {
	u.mu.Lock()
	all := slices.Clone(u.all)
	u.mu.Unlock()
	for _, user := range all {
		user.notify(n)
	}
}

// addUser adds a user of the process, which owner runs, and notifies the user once of the start.
func (i *instance) addUser(user, owner *processUser) {
	i.users.mu.Lock()
	known, others := slices.Contains(i.users.all, user), len(i.users.all) > 0
	if !known {
		i.users.all = append(i.users.all, user)
	}
	i.users.mu.Unlock()
	if known {
		return
	}
	if user != owner {
		user.add(i)
	}
	n := i.started
	n.Shared = others
	user.notify(n)
}

// removeUser removes a user. For the last user it first calls end, which ends the process, so that the user is notified
// of survivors.
func (i *instance) removeUser(user *processUser, end func()) {
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
	i.users.all = slices.DeleteFunc(i.users.all, func(u *processUser) bool { return u == user })
}

// processUser is a Host as the user of processes: it gets their notices, and its calls on shared processes are
// tracked. It is safe for concurrent use.
type processUser struct {
	notify func(Notice)
	calls  sync.WaitGroup

	mu        sync.Mutex // guards:
	disabled  bool       // the Host shares no process
	closed    bool
	cancels   map[*context.CancelCauseFunc]bool // cancel functions of the calls in flight
	instances []*instance
}

// disable stops the Host from sharing processes.
func (u *processUser) disable() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.disabled = true
}

func (u *processUser) isDisabled() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.disabled
}

func (u *processUser) add(i *instance) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.instances = append(slices.DeleteFunc(u.instances, func(i *instance) bool { return process.HasEnded(i.Done()) }), i)
}

// begin registers a call; done is called after the call. The returned context ends with the Host.
func (u *processUser) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		cancel(nil)
		return nil, nil, closedError()
	}
	if u.cancels == nil {
		u.cancels = map[*context.CancelCauseFunc]bool{}
	}
	u.cancels[&cancel] = true
	u.calls.Add(1)
	return ctx, func() {
		cancel(nil)
		u.mu.Lock()
		delete(u.cancels, &cancel)
		u.mu.Unlock()
		u.calls.Done()
	}, nil
}

// close ends the calls on shared processes and releases the processes. A process without other users ends, too.
func (u *processUser) close(ctx context.Context, processes *processPool[*instance]) {
	u.mu.Lock()
	u.closed = true
	for cancel := range u.cancels {
		(*cancel)(closedError())
	}
	u.mu.Unlock()
	u.calls.Wait()
	for _, i := range u.instances { // a closed user gets no more instances
		i.removeUser(u, func() { processes.Retire(ctx, func(r *instance) bool { return r == i }) })
	}
}
