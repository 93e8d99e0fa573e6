package engine

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// maxPlan bounds plan.json, in bytes.
const maxPlan = 16 << 20

// survivorGrace is how long processes of a dead kernel have to end by themselves.
const survivorGrace = 2 * time.Second

// session is a session that this engine holds: its lock, its files, its plugin processes.
type session struct {
	engine  *Engine
	name    string
	log     hclog.Logger
	dir     *store.Dir
	journal *journal.Journal
	host    *pluginhost.Host
	past    *past
	view    *statefile.Writer
	account *metrics.Collector
	closers []func() error // in the order of opening

	lock      *store.Lock
	swept     []store.StaleLock  // locks of dead kernels, removed when the session was taken
	survivors []process.Survivor // of an earlier run, ended when the session was taken

	plan *plan.Plan
	// providers are what the names in the plan's blocks stand for, nil if that is not known yet.
	providers map[string]event.Provider
	state     state.State
	started   time.Time
	contested bool        // a kernel that was overtaken may still be at work
	configs   userConfigs // of the user, by provider, as they are now
	callbacks []callback
	resuming  []func(*HookContext, string) HookResult
	phases    phases
	reached   []event.Event // timers of guardrails that have run out, not told yet; used by the run's goroutine
	waits     bool          // somebody is there to be asked
	// escalations are sent on to whoever looks for their resolutions, when they change; escalated are those sent last.
	escalations chan []question.Open
	escalated   []question.Open
	sandbox     *plan.Sandbox // the word of whoever resumed it
	left        []event.Event // what was said when the run did not listen any more; see takeLeft
	notifier    *notify.Notifier
	warnings    Diagnostics
	redactor    *redact.Redactor // knows what the plan says of secrets, too
	found       secretsFound     // in files that agents wrote

	noticing sync.Mutex // guards:
	begun    bool       // the run's first events are written
	notices  []event.Event

	sending sync.Mutex // held while observers are called
	observe func(Update)
}

// hold takes a session over: stale locks are swept, the lock is taken, the directory and the journal
// are opened and read, and what a dead kernel left running is ended. The caller closes the session.
func (e *Engine) hold(ctx context.Context, name string, force, create bool) (_ *session, err error) {
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	s := &session{engine: e, name: name, redactor: e.redactor, log: e.log.With("session", name), started: time.Now(), observe: func(Update) {}, escalations: make(chan []question.Open, 1)}
	defer func() {
		if err != nil {
			err = s.close(err)
		}
	}()
	if e.runs(name) { // force is for other processes
		return nil, runsHere(name)
	}
	if err := s.acquire(force, create); err != nil {
		return nil, err
	}
	if err := s.sweepTemps(); err != nil {
		return nil, err
	}
	var p *plan.Plan
	if !create { // a run that begins brings its own plan
		p, _ = loadPlan(s.dir) // why it cannot be read is said where it is needed
	}
	s.past = s.pastOf(p)
	if s.journal, s.past.log, err = journal.Open(ctx, s.dir, s.journalOptions(), s.past.take); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.journal.Close)
	if err := s.sweep(ctx, s.past.kernels); err != nil {
		return nil, err
	}
	if s.host, err = e.newHost(s.marker(), s.notice); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.closeHost)
	s.release(ctx)
	return s, nil
}

func (s *session) journalOptions() journal.Options {
	o := s.engine.config.journal(s.engine.log)
	o.Redact = s.redacted
	return o
}

// acquire takes the lock and opens the directory.
func (s *session) acquire(force, create bool) error {
	if !create { // a session that does not exist is not locked
		if _, err := s.engine.project.Stat(store.RunsDir + "/" + s.name); errors.Is(err, fs.ErrNotExist) {
			return s.engine.project.Missing(s.name)
		}
	}
	s.swept = s.engine.sweepLocks()
	l, err := store.AcquireLock(s.engine.project, s.name, store.LockOptions{Force: force, Marker: s.marker()})
	if err != nil {
		return locked(err)
	}
	s.lock = l
	s.closers = append(s.closers, l.Release)
	if dead, ok := l.StaleLock(); ok {
		s.swept = append(s.swept, dead)
	}
	if w := l.Warning(); w != "" {
		s.log.Warn(w)
	}
	open := s.engine.project.Open
	if create {
		open = s.engine.project.Create
	}
	if s.dir, err = open(s.name); err != nil {
		return err
	}
	s.closers = append(s.closers, s.dir.Close)
	return nil
}

// locked lets callers find [ErrLocked] in the lock's refusal.
func locked(err error) error {
	var f *failure.Error
	if errors.As(err, &f) && f.Kind == failure.LockContention {
		c := *f
		c.Cause = errors.Join(ErrLocked, f.Cause)
		return &c
	}
	return err
}

// sweepLocks removes the locks of kernels that died, but for those of sessions that run here, or are just taken over. A lock
// that resists is somebody else's trouble.
func (e *Engine) sweepLocks() []store.StaleLock {
	swept, err := store.SweepLocks(e.project, e.runs)
	if err != nil {
		e.log.Warn("stale locks not all removed", "error", err)
	}
	for _, l := range swept {
		e.log.Warn("removed stale lock", "session", l.Session, "pid", l.PID)
	}
	return swept
}

// release lets the strategies of sessions whose kernels died give back what they hold outside.
func (s *session) release(ctx context.Context) {
	for _, dead := range s.swept {
		if err := s.releaseFor(ctx, dead.Session); err != nil {
			s.engine.log.Warn("what a dead session held was not given back", "session", dead.Session, "error", err)
		}
	}
}

func (s *session) releaseFor(ctx context.Context, name string) error {
	dir, err := s.engine.project.Open(name)
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	p, err := loadPlan(dir)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = s.engine.planOfLoop(ctx, name, dir, s.configs)
	}
	if err != nil || p == nil {
		return err
	}
	done := map[string]bool{plan.TypeFixed: true, plan.TypeChecks: true} // hold nothing
	var errs []error
	for _, n := range stagesOf(p, nil) {
		kind := n.Termination.Type()
		if done[kind] {
			continue
		}
		done[kind] = true
		t, err := components{host: s.host, plan: p, sandboxes: s.engine.sandboxes(p)}.strategy(ctx, kind, n)
		if r, ok := t.(sdk.Releaser); err == nil && ok {
			err = r.Release(ctx, name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sweep ends what dead kernels of this session left running, and what sessions of dead kernels shared.
func (s *session) sweep(ctx context.Context, kernels []process.Marker) error {
	runs := []string{s.marker(), s.engine.marker()}
	dead := slices.Clone(kernels)
	for _, k := range kernels {
		dead = append(dead, process.Marker{Run: s.engine.marker(), PID: k.PID, Start: k.Start})
	}
	survivors, err := s.engine.host.Sweep(ctx, runs, survivorGrace, dead...)
	if err != nil {
		return err
	}
	for _, p := range survivors {
		s.log.Warn("ended a process that an earlier run left behind", "pid", p.PID, "command", p.Command, "ended", p.Ended)
	}
	s.survivors = survivors
	return nil
}

// sweepTemps removes unfinished files of dead kernels.
func (s *session) sweepTemps() error {
	_, err := s.dir.SweepTemps()
	return err
}

// vacate removes the directory of a session that never began and holds nothing: a start that was
// refused shall not be listed as a session. What cannot be removed stays.
func (s *session) vacate() {
	entries, err := s.dir.Entries(".")
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Size() > 0 || e.Name() != store.EventsFile && e.Name() != store.EventsLock {
			return
		}
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, s.dir.Remove(e.Name()))
	}
	if err := errors.Join(append(errs, s.engine.project.Remove(store.RunsDir+"/"+s.name))...); err != nil {
		s.log.Debug("directory of a session that did not begin stays", "error", err)
	}
}

// marker names the session in the environment of everything it starts.
func (s *session) marker() string {
	return s.engine.project.Abs(store.RunsDir+"/"+s.name) + "/"
}

// close lets everything go, in the opposite order of opening, and adds what went wrong to err. A
// journal that ended the run says why again when it is closed; that is not added.
func (s *session) close(err error) error {
	for i := len(s.closers) - 1; i >= 0; i-- {
		if e := s.closers[i](); e != nil && !errors.Is(err, e) {
			err = errors.Join(err, e)
		}
	}
	s.closers = nil
	return err
}

// kernelStart says who takes hold of the session.
func (s *session) kernelStart() event.KernelStartData {
	me := s.lock.Info()
	return event.KernelStartData{
		PID: me.PID, StartTime: me.StartTime, Version: s.engine.config.version, Callbacks: s.callbackPoints(), Waits: s.waits,
	}
}

// writePlan writes plan.json, the copy of the pipeline and those of shipped stages, and returns the plan's
// digest.
func (s *session) writePlan(src *source) (string, error) {
	if s.plan.Session.Inputs == nil {
		s.plan.Session.Inputs = []string{} // a run's plan always has them, as Bash's
	}
	b, err := render(s.plan)
	if err != nil {
		return "", err
	}
	if err := s.copyLibrary(src.library); err != nil {
		return "", err
	}
	if len(src.yaml) > 0 {
		if err := s.dir.Replace(store.PipelineFile, src.yaml); err != nil {
			return "", err
		}
	}
	if src.mode == "loop" { // a strategy that is asked before the first iteration is told of it
		if _, err := s.dir.EnsureSessionProgress(); err != nil {
			return "", err
		}
	}
	ref, err := s.dir.Write(store.PlanFile, b)
	return ref.SHA256, err
}

// checkPlan refuses to go on with another plan than the session was started with.
func (s *session) checkPlan() error {
	ref, err := s.dir.Ref(store.PlanFile)
	if err != nil {
		return err
	}
	if s.state.PlanSHA256 != "" && s.state.PlanSHA256 != ref.SHA256 {
		return failure.New(failure.StateCorrupt, "plan.json of session '%s' was changed after the session started", s.name).
			WithHint("put the file back, or start the session again with --force")
	}
	return nil
}
