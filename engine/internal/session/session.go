package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// fold takes the state from the replay. Late deliveries are invalid again and ignored.
func (s *session) fold() error {
	st, err := s.replay.fold.State()
	if err != nil {
		return failure.New(failure.StateCorrupt, "read the journal of session '%s': %w", s.name, err).
			WithHint("a newer version may have written it")
	}
	s.state = st
	return nil
}

// apply applies events just appended. Invalid ones of an earlier epoch are another kernel's and ignored, as
// in a fold.
func (s *session) apply(events []event.Event) error {
	for _, e := range events {
		next, err := progress.Apply(s.plan, s.state, e)
		if errors.Is(err, progress.ErrInvalidTransition) && e.Epoch < events[len(events)-1].Epoch {
			s.log.Debug("ignored an event of an earlier epoch", "error", err)
			continue
		}
		if err != nil {
			return failure.New(failure.Internal, "apply %s: %w", e.Type, err)
		}
		s.state = next
		s.onEvent(e, next)
	}
	return nil
}

// pluginStop bounds the shutdown of a session's plugins.
const pluginStop = 5 * time.Second

func (s *session) closeHost() error {
	ctx, cancel := context.WithTimeout(context.Background(), pluginStop)
	defer cancel()
	return s.host.Close(ctx)
}

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
	phases         phases
	expiredTimers  []event.Event // expired guardrail timers, not journaled yet; used by the run's goroutine
	interactive    bool          // questions can be answered while the run waits
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

// Supervisor runs the sessions of a project. It is safe for concurrent use with different sessions.
type Supervisor struct {
	inspect.Inspector
	env     *environment.Environment
	publish func(inspect.Update)
	active  activeSessions
}

// NewSupervisor returns the supervisor of an engine's environment. It calls publish with every update.
func NewSupervisor(env *environment.Environment, publish func(inspect.Update)) *Supervisor {
	return &Supervisor{Inspector: inspect.New(env), env: env, publish: publish}
}

// openExclusive locks and opens a session. It removes stale locks, opens the journal and replays it, and ends
// processes that a dead kernel left. The caller closes the session.
func (e *Supervisor) openExclusive(ctx context.Context, name string, force, create bool) (_ *session, err error) {
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	s := &session{engine: e, name: name, redactor: e.env.Redactor, log: e.env.Log.With("session", name), started: time.Now(), observe: func(inspect.Update) {}, escalations: make(chan []question.Open, 1)}
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

func (s *session) journalOptions() journal.Options {
	o := s.engine.env.Config.Journal(s.engine.env.Log)
	o.Redact = s.redactEvent
	return o
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

// processMarker identifies all processes of the session, by an environment variable.
func (s *session) processMarker() string {
	return s.engine.env.Project.Abs(store.RunsDir+"/"+s.name) + "/"
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

// kernelStartData describes this kernel for the journal.
func (s *session) kernelStartData() event.KernelStartData {
	owner := s.lock.Info()
	return event.KernelStartData{
		PID: owner.PID, StartTime: owner.StartTime, Version: s.engine.env.Config.Version, Callbacks: s.callbackPoints(), Waits: s.interactive,
	}
}

// writePlan writes plan.json and the copies of the pipeline and of shipped stages. It returns the plan's
// digest.
func (s *session) writePlan(src *source.Source) (string, error) {
	if s.plan.Session.Inputs == nil {
		s.plan.Session.Inputs = []string{} // as in the Bash engine, never null
	}
	b, err := json.MarshalIndent(s.plan, "", "  ") // as by the Bash engine
	if err != nil {
		return "", fmt.Errorf("render plan.json: %w", err)
	}
	if err := s.copyLibrary(src.Library); err != nil {
		return "", err
	}
	if len(src.Yaml) > 0 {
		if err := s.dir.Replace(store.PipelineFile, src.Yaml); err != nil {
			return "", err
		}
	}
	if src.Mode == "loop" { // for strategies that are asked before the first iteration
		if _, err := s.dir.EnsureSessionProgress(); err != nil {
			return "", err
		}
	}
	ref, err := s.dir.Write(store.PlanFile, append(b, '\n'))
	return ref.SHA256, err
}

// checkPlan refuses to continue with a plan.json that was changed since the start.
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

// copyLibrary copies the folders of shipped stages that the plan uses into the session. A session resumed by
// a newer program thus keeps its prompts.
func (s *session) copyLibrary(folders []string) error {
	library := s.engine.env.Config.Library
	for _, folder := range folders {
		err := fs.WalkDir(library, folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := fs.Stat(library, name)
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			data, err := fs.ReadFile(library, name)
			if err != nil {
				return err
			}
			_, err = s.dir.Write(store.LibraryDir+"/"+name, data)
			return err
		})
		if err != nil {
			return fmt.Errorf("copy the shipped %s into the session: %w", folder, err)
		}
	}
	return nil
}

// commit appends an event to the journal and applies it.
func (s *session) commit(ctx context.Context, e event.Event) error {
	events, err := s.journal.Append(ctx, e)
	if err != nil {
		return err
	}
	return s.apply(events)
}
