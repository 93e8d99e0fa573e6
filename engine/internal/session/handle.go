package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// handle is a session's name and directory, with the environment of its engine.
type handle struct {
	env  *environment.Environment
	name string
	log  hclog.Logger
	dir  *store.Dir
}

// newHandle returns the handle of a session. dir may be nil until the session is locked.
func newHandle(env *environment.Environment, name string, dir *store.Dir) *handle {
	return &handle{env: env, name: name, log: env.Log.With("session", name), dir: dir}
}

// processMarker returns the text that identifies all processes of the session, in an environment variable.
func (h *handle) processMarker() string {
	return h.env.Project.Abs(store.RunsDir+"/"+h.name) + "/"
}

// removeEmptyDir removes the directory of a session that never began and has no files, so that a refused
// start is not listed as a session. Failures are only logged.
func (h *handle) removeEmptyDir() {
	var errs []error
	for _, name := range []string{store.EventsFile, store.EventsLock} {
		if info, err := h.dir.Stat(name); err == nil && info.Size() == 0 {
			errs = append(errs, h.dir.Remove(name))
		}
	}
	errs = append(errs, h.env.Project.Remove(store.RunsDir+"/"+h.name)) // fails if other files are left
	if err := errors.Join(errs...); err != nil {
		h.log.Debug("could not remove the directory of a session that never began", "error", err)
	}
}

// unusedName returns the first name that no file of the session has; form has %d for a number from 1.
func (h *handle) unusedName(form string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf(form, n)
		if _, err := h.dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}

// lease holds a session's lock, its journal and its plugin processes.
type lease struct {
	engine   *Supervisor
	handle   *handle
	journal  *journal.Journal
	host     *pluginhost.Host
	openedAt time.Time      // the time of newLease
	closers  []func() error // in the order of opening

	lock       *store.Lock
	staleLocks []store.StaleLock  // locks of dead kernels, removed when the session was opened
	survivors  []process.Survivor // of an earlier run, ended when the session was opened
}

// newLease returns the lease of a session that is not locked yet.
func newLease(e *Supervisor, name string) *lease {
	return &lease{engine: e, handle: newHandle(e.env, name, nil), openedAt: time.Now()}
}

// acquire takes the lock and opens the directory.
func (l *lease) acquire(force, create bool) error {
	if !create { // a missing session has no lock
		if _, err := l.handle.env.Project.Stat(store.RunsDir + "/" + l.handle.name); errors.Is(err, fs.ErrNotExist) {
			return l.handle.env.Project.NoSessionError(l.handle.name)
		}
	}
	l.staleLocks = l.engine.removeStaleLocks()
	lock, err := store.AcquireLock(l.handle.env.Project, l.handle.name, store.LockOptions{Force: force, Marker: l.handle.processMarker()})
	if err != nil {
		return wrapLocked(err)
	}
	l.lock = lock
	l.closers = append(l.closers, lock.Release)
	if dead, ok := lock.StaleLock(); ok {
		l.staleLocks = append(l.staleLocks, dead)
	}
	if w := lock.Warning(); w != "" {
		l.handle.log.Warn(w)
	}
	open := l.handle.env.Project.Open
	if create {
		open = l.handle.env.Project.Create
	}
	if l.handle.dir, err = open(l.handle.name); err != nil {
		return err
	}
	l.closers = append(l.closers, l.handle.dir.Close)
	return nil
}

// endSurvivors ends processes that dead kernels of this session, or of sessions that shared them, left
// running.
func (l *lease) endSurvivors(ctx context.Context, kernels []process.Marker) error {
	const grace = 2 * time.Second // for the processes to end by themselves
	runs := []string{l.handle.processMarker(), l.handle.env.ProcessMarker()}
	dead := slices.Clone(kernels)
	for _, k := range kernels {
		dead = append(dead, process.Marker{Run: l.handle.env.ProcessMarker(), PID: k.PID, Start: k.Start})
	}
	survivors, err := l.handle.env.Host.Sweep(ctx, runs, grace, dead...)
	if err != nil {
		return err
	}
	for _, p := range survivors {
		l.handle.log.Warn("found a process that an earlier run left behind", "pid", p.PID, "command", p.Command, "ended", p.Ended)
	}
	l.survivors = survivors
	return nil
}

// startHost starts the session's own plugin host, which passes notices about its processes to notify.
func (l *lease) startHost(notify func(pluginhost.Notice)) (err error) {
	if l.host, err = l.handle.env.NewHost(l.handle.processMarker(), notify); err == nil {
		l.closers = append(l.closers, l.closeHost)
	}
	return err
}

func (l *lease) closeHost() error {
	const stop = 5 * time.Second // for the plugins to end
	ctx, cancel := context.WithTimeout(context.Background(), stop)
	defer cancel()
	return l.host.Close(ctx)
}

// releaseStale lets the strategies of dead kernels' sessions release their external resources.
func (l *lease) releaseStale(ctx context.Context) {
	for _, dead := range l.staleLocks {
		if err := l.engine.releaseStrategies(ctx, l.host, dead.Session); err != nil {
			l.handle.env.Log.Warn("could not release resources of a dead session", "session", dead.Session, "error", err)
		}
	}
}

// kernelStartData describes this kernel for the journal.
func (l *lease) kernelStartData() event.KernelStartData {
	owner := l.lock.Info()
	return event.KernelStartData{PID: owner.PID, StartTime: owner.StartTime, Version: l.handle.env.Config.Version}
}

// close releases all resources in reverse order and joins their errors to err. A journal that ended the run repeats its
// error when closed; this error is not added again.
func (l *lease) close(err error) error {
	for i := len(l.closers) - 1; i >= 0; i-- {
		if e := l.closers[i](); e != nil && !errors.Is(err, e) {
			err = errors.Join(err, e)
		}
	}
	l.closers = nil
	return err
}
