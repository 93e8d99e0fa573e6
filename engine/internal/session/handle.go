package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// handle holds a session's lock, its directory and journal, and its plugin processes.
type handle struct {
	engine   *Supervisor
	name     string
	log      hclog.Logger
	dir      *store.Dir
	journal  *journal.Journal
	host     *pluginhost.Host
	openedAt time.Time      // the time of newSetup
	closers  []func() error // in the order of opening

	lock       *store.Lock
	staleLocks []store.StaleLock  // locks of dead kernels, removed when the session was opened
	survivors  []process.Survivor // of an earlier run, ended when the session was opened
}

// acquire takes the lock and opens the directory.
func (h *handle) acquire(force, create bool) error {
	if !create { // a missing session has no lock
		if _, err := h.engine.env.Project.Stat(store.RunsDir + "/" + h.name); errors.Is(err, fs.ErrNotExist) {
			return h.engine.env.Project.NoSessionError(h.name)
		}
	}
	h.staleLocks = h.engine.removeStaleLocks()
	l, err := store.AcquireLock(h.engine.env.Project, h.name, store.LockOptions{Force: force, Marker: h.processMarker()})
	if err != nil {
		return wrapLocked(err)
	}
	h.lock = l
	h.closers = append(h.closers, l.Release)
	if dead, ok := l.StaleLock(); ok {
		h.staleLocks = append(h.staleLocks, dead)
	}
	if w := l.Warning(); w != "" {
		h.log.Warn(w)
	}
	open := h.engine.env.Project.Open
	if create {
		open = h.engine.env.Project.Create
	}
	if h.dir, err = open(h.name); err != nil {
		return err
	}
	h.closers = append(h.closers, h.dir.Close)
	return nil
}

// endSurvivors ends processes that dead kernels of this session, or of sessions that shared them, left
// running.
func (h *handle) endSurvivors(ctx context.Context, kernels []process.Marker) error {
	const grace = 2 * time.Second // for the processes to end by themselves
	runs := []string{h.processMarker(), h.engine.env.ProcessMarker()}
	dead := slices.Clone(kernels)
	for _, k := range kernels {
		dead = append(dead, process.Marker{Run: h.engine.env.ProcessMarker(), PID: k.PID, Start: k.Start})
	}
	survivors, err := h.engine.env.Host.Sweep(ctx, runs, grace, dead...)
	if err != nil {
		return err
	}
	for _, p := range survivors {
		h.log.Warn("found a process that an earlier run left behind", "pid", p.PID, "command", p.Command, "ended", p.Ended)
	}
	h.survivors = survivors
	return nil
}

// startHost starts the session's own plugin host, which passes notices about its processes to notify.
func (h *handle) startHost(notify func(pluginhost.Notice)) (err error) {
	if h.host, err = h.engine.env.NewHost(h.processMarker(), notify); err == nil {
		h.closers = append(h.closers, h.closeHost)
	}
	return err
}

func (h *handle) closeHost() error {
	const stop = 5 * time.Second // for the plugins to end
	ctx, cancel := context.WithTimeout(context.Background(), stop)
	defer cancel()
	return h.host.Close(ctx)
}

// releaseStale lets the strategies of dead kernels' sessions release their external resources.
func (h *handle) releaseStale(ctx context.Context) {
	for _, dead := range h.staleLocks {
		if err := h.engine.releaseStrategies(ctx, h.host, dead.Session); err != nil {
			h.engine.env.Log.Warn("could not release resources of a dead session", "session", dead.Session, "error", err)
		}
	}
}

// close releases all resources in reverse order and joins their errors to err. A journal that ended the run repeats its
// error when closed; this error is not added again.
func (h *handle) close(err error) error {
	for i := len(h.closers) - 1; i >= 0; i-- {
		if e := h.closers[i](); e != nil && !errors.Is(err, e) {
			err = errors.Join(err, e)
		}
	}
	h.closers = nil
	return err
}

// processMarker returns the text that identifies all processes of the session, in an environment variable.
func (h *handle) processMarker() string {
	return h.engine.env.Project.Abs(store.RunsDir+"/"+h.name) + "/"
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
	errs = append(errs, h.engine.env.Project.Remove(store.RunsDir+"/"+h.name)) // fails if other files are left
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
