package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/lock"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// fold takes the state from the journal. Events that did not fit when they were written are late
// deliveries and do not fit now.
func (s *session) fold() error {
	st, err := s.past.fold.State()
	if err != nil {
		return failure.New(failure.StateCorrupt, "read the journal of session '%s': %w", s.name, err).
			WithHint("a newer agent-pipelines may have written it")
	}
	s.state = st
	return nil
}

// apply applies events just appended. Those of an earlier epoch are another kernel's, as in a fold.
func (s *session) apply(events []event.Event) error {
	for _, e := range events {
		next, err := schedule.Apply(s.plan, s.state, e)
		if errors.Is(err, schedule.ErrInvalidTransition) && e.Epoch < events[len(events)-1].Epoch {
			s.log.Debug("event left out", "error", err)
			continue
		}
		if err != nil {
			return failure.New(failure.Internal, "apply %s: %w", e.Type, err)
		}
		s.state = next
		s.happened(e, next)
	}
	return nil
}

// pluginStop is how long plugins have to end when their session does.
const pluginStop = 5 * time.Second

func (s *session) closeHost() error {
	ctx, cancel := context.WithTimeout(context.Background(), pluginStop)
	defer cancel()
	return s.host.Close(ctx)
}

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

	lock      *lock.Lock
	swept     []lock.Swept       // locks of dead kernels, removed when the session was taken
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
	l, err := lock.Acquire(s.engine.project, s.name, lock.Options{Force: force, Marker: s.marker()})
	if err != nil {
		return locked(err)
	}
	s.lock = l
	s.closers = append(s.closers, l.Release)
	if dead, ok := l.Swept(); ok {
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

// copyLibrary copies the folders of shipped stages that the plan uses into the session, where the plan
// looks for their prompts: a session that is resumed by a newer program goes on with what it began with.
func (s *session) copyLibrary(folders []string) error {
	library := s.engine.config.library
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

// commit appends an event and applies it.
func (s *session) commit(ctx context.Context, e event.Event) error {
	events, err := s.journal.Append(ctx, e)
	if err != nil {
		return err
	}
	return s.apply(events)
}
