package session

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/derived"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// session is a session that this engine holds: its lock, its files, its plugin processes.
type session struct {
	engine    *Supervisor
	name      string
	log       hclog.Logger
	dir       *store.Dir
	journal   *journal.Journal
	host      *pluginhost.Host
	replay    *replay
	stateFile *statefile.Writer
	timeline  *timeline.Timeline
	closers   []func() error // in the order of opening

	lock       *store.Lock
	staleLocks []store.StaleLock  // locks of dead kernels, removed when the session was opened
	survivors  []process.Survivor // of an earlier run, ended when the session was opened

	plan *plan.Plan
	// providers maps the names in the plan's blocks to components, nil if not known yet.
	providers      map[string]event.Provider
	state          state.State
	started        time.Time
	possiblyFenced bool                        // the previous kernel may still be running
	configs        environment.ProviderConfigs // the user's current settings, by provider
	hooks          Hooks
	derived        *derived.Fold
	interactive    bool // questions can be answered while the run waits
	// escalations passes changed open escalations to the control loop; sentEscalations are the last ones
	// sent.
	escalations     chan []question.Open
	sentEscalations []question.Open
	sandbox         *plan.Sandbox // restriction given by the resume
	unread          []event.Event // control events that the run did not receive; see applyUnread
	notifier        *notify.Notifier
	warnings        yamldoc.Diagnostics
	redactor        *redact.Redactor   // also knows the plan's secret patterns
	foundSecrets    inspect.SecretFold // in files that agents wrote

	deferMu  sync.Mutex // guards:
	runBegun bool       // the run's first events are written
	deferred []event.Event

	observeMu sync.Mutex // held while observers are called
	observe   func(inspect.Update)
}

// newSession returns a session that is not opened.
func newSession(e *Supervisor, name string) *session {
	return &session{
		engine: e, name: name, redactor: e.env.Redactor, log: e.env.Log.With("session", name), started: time.Now(),
		observe: func(inspect.Update) {}, escalations: make(chan []question.Open, 1),
	}
}

// openExclusive locks and opens a session. It removes stale locks, opens the journal and replays it, and ends
// processes that a dead kernel left. The caller closes the session.
func (e *Supervisor) openExclusive(ctx context.Context, name string, force, create bool) (_ *session, err error) {
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	s := newSession(e, name)
	defer func() {
		if err != nil {
			err = s.close(err)
		}
	}()
	if e.active.contains(name) { // force applies to other processes only
		return nil, runsHereError(name)
	}
	if err := s.acquire(force, create); err != nil {
		return nil, err
	}
	if err := s.sweepTemps(); err != nil {
		return nil, err
	}
	var p *plan.Plan
	if !create { // a new run has its own plan
		p, _ = inspect.LoadPlan(s.dir) // reported where the plan is needed
	}
	s.replay = s.newReplay(p)
	if s.journal, s.replay.log, err = journal.Open(ctx, s.dir, s.journalOptions(), s.replay.apply); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.journal.Close)
	if err := s.endSurvivors(ctx, s.replay.kernels); err != nil {
		return nil, err
	}
	if s.host, err = e.env.NewHost(s.processMarker(), s.pluginEvent); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.closeHost)
	s.releaseStale(ctx)
	return s, nil
}

// acquire takes the lock and opens the directory.
func (s *session) acquire(force, create bool) error {
	if !create { // a missing session has no lock
		if _, err := s.engine.env.Project.Stat(store.RunsDir + "/" + s.name); errors.Is(err, fs.ErrNotExist) {
			return s.engine.env.Project.NoSessionError(s.name)
		}
	}
	s.staleLocks = s.engine.removeStaleLocks()
	l, err := store.AcquireLock(s.engine.env.Project, s.name, store.LockOptions{Force: force, Marker: s.processMarker()})
	if err != nil {
		return wrapLocked(err)
	}
	s.lock = l
	s.closers = append(s.closers, l.Release)
	if dead, ok := l.StaleLock(); ok {
		s.staleLocks = append(s.staleLocks, dead)
	}
	if w := l.Warning(); w != "" {
		s.log.Warn(w)
	}
	open := s.engine.env.Project.Open
	if create {
		open = s.engine.env.Project.Create
	}
	if s.dir, err = open(s.name); err != nil {
		return err
	}
	s.closers = append(s.closers, s.dir.Close)
	return nil
}

// endSurvivors ends processes that dead kernels of this session, or of sessions that shared them, left
// running.
func (s *session) endSurvivors(ctx context.Context, kernels []process.Marker) error {
	const grace = 2 * time.Second // for the processes to end by themselves
	runs := []string{s.processMarker(), s.engine.env.ProcessMarker()}
	dead := slices.Clone(kernels)
	for _, k := range kernels {
		dead = append(dead, process.Marker{Run: s.engine.env.ProcessMarker(), PID: k.PID, Start: k.Start})
	}
	survivors, err := s.engine.env.Host.Sweep(ctx, runs, grace, dead...)
	if err != nil {
		return err
	}
	for _, p := range survivors {
		s.log.Warn("ended a process that an earlier run left behind", "pid", p.PID, "command", p.Command, "ended", p.Ended)
	}
	s.survivors = survivors
	return nil
}

// releaseStale lets the strategies of dead kernels' sessions release their external resources.
func (s *session) releaseStale(ctx context.Context) {
	for _, dead := range s.staleLocks {
		if err := s.engine.releaseStrategies(ctx, s.host, s.configs, dead.Session); err != nil {
			s.engine.env.Log.Warn("could not release resources of a dead session", "session", dead.Session, "error", err)
		}
	}
}

// sweepTemps removes temporary files of dead kernels.
func (s *session) sweepTemps() error {
	_, err := s.dir.SweepTemps()
	return err
}

func (s *session) closeHost() error {
	const stop = 5 * time.Second // for the plugins to end
	ctx, cancel := context.WithTimeout(context.Background(), stop)
	defer cancel()
	return s.host.Close(ctx)
}

// close releases all resources in reverse order and joins their errors to err. A journal that ended the run
// repeats its error when closed; that is not added again.
func (s *session) close(err error) error {
	for i := len(s.closers) - 1; i >= 0; i-- {
		if e := s.closers[i](); e != nil && !errors.Is(err, e) {
			err = errors.Join(err, e)
		}
	}
	s.closers = nil
	return err
}

// processMarker identifies all processes of the session, by an environment variable.
func (s *session) processMarker() string {
	return s.engine.env.Project.Abs(store.RunsDir+"/"+s.name) + "/"
}

// kernelStartData describes this kernel for the journal.
func (s *session) kernelStartData() event.KernelStartData {
	owner := s.lock.Info()
	return event.KernelStartData{
		PID: owner.PID, StartTime: owner.StartTime, Version: s.engine.env.Config.Version, Callbacks: s.callbackPoints(), Waits: s.interactive,
	}
}

// pluginSandbox returns the journal's description of a process's isolation, nil for none.
func pluginSandbox(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Requested == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Requested: string(n.Requested.Mode), AskedNetwork: string(n.Requested.Network), Unasked: n.Requested.BestEffort,
		Mode: string(got.Mode), Network: string(got.Network), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap,
		Read: n.Requested.Read, Write: n.Requested.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Missing,
	}
}
