package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Status says how a session stands, from its journal. It takes no lock and starts nothing. The error
// wraps [ErrNoSession] if there is none.
func (e *Engine) Status(session string) (*Status, error) {
	var t told
	dir, k, err := e.look(session, func(*plan.Plan) func(event.Event) { return t.take })
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return e.statusOf(session, dir, k, &t)
}

// statusOf is how a session stands that was looked at.
func (e *Engine) statusOf(session string, dir *store.Dir, k known, t *told) (*Status, error) {
	s := describe(k.plan, k.state)
	s.Stages, s.Deliverable = stageResults(k.plan, k.state, dir.Path()), deliverable(k.plan, k.state, dir.Path())
	s.Damage, s.Plugins, s.Secrets, s.Survivors = k.damage, t.plugins, t.secrets, t.survivors
	s.Late, s.Superseded = t.givenUp.of(k.plan)
	s.Health = t.health.judged()
	s.Session, s.Dir, s.Events = session, dir.Path(), int64(k.log.Count)
	s.LastEvent, s.LastEventAt = string(k.log.Last.Type), k.log.Last.Time
	holder, held, err := store.LockHolder(e.project, session)
	if err != nil {
		return nil, err
	}
	if held {
		s.Held, s.PID = true, holder.PID
	}
	s.Questions = openQuestions(k, dir, held)
	s.Crashed = !held && s.Status == state.Running
	switch {
	case s.Status.Final() || s.Status == "" || held:
	case k.doubtful:
		s.RepairCommand = "agent-pipelines repair " + session
	default:
		s.ResumeCommand = resumeCommand(session, k.plan, k.state)
	}
	return s, nil
}

// told is what events tell of a session beside its state.
type told struct {
	plugins   processes
	secrets   secretsFound
	survivors survivors
	givenUp   givenUp
	health    Health
}

func (t *told) take(e event.Event) {
	t.plugins.take(e)
	t.secrets.take(e)
	t.survivors.take(e)
	t.givenUp.take(e)
	t.health.take(e)
}

// survivors are the processes that were left behind in the last run of a session.
type survivors []Survivor

func (all *survivors) take(e event.Event) {
	switch e.Type {
	case event.SessionStart:
		*all = nil
	case event.SurvivorEnded:
		if d, err := event.Decode[Survivor](e); err == nil {
			*all = append(*all, d)
		}
	}
}

func (e *Engine) open(session string) (*store.Dir, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	return e.project.Open(session)
}

// describe turns a state into what people ask about.
func describe(p *plan.Plan, st state.State) *Status {
	s := &Status{
		RunID: st.RunID, Mode: st.Mode, Status: st.Status, PauseKind: st.PauseKind, PauseCode: st.PauseCode, Reason: orElse(st.Reason, st.PauseReason),
		Run: st.Run, Runs: st.Runs, Node: st.At, Completed: completed(p, st), StartedAt: st.StartedAt, EndedAt: st.EndedAt, Failure: st.Failure, Usage: st.Usage,
	}
	at := st.At
	if at == "" && len(p.Nodes) > 0 {
		last := slices.IndexFunc(p.Nodes, func(n plan.Node) bool { return n.ID == p.ExitAfter() })
		if last < 0 {
			last = len(p.Nodes) - 1
		}
		at = p.Nodes[last].Path
	}
	if n := p.Find(at); n != nil {
		s.Stage, s.Type, s.Max = n.ID, n.Ref, n.Termination.Max()
		if n.Provider != nil {
			s.Provider = n.Provider.Type
		}
	}
	s.Providers = providersOf(p.Find(at), st)
	s.StepsOf, s.Steps = stepStatuses(p, st)
	s.Cycles, s.Budgets = cyclesOf(st), budgets(p, st)
	if s.Returns = st.Returns; s.Returns > 0 {
		s.MaxReturns = p.CyclesOf(nil).Session
	}
	l := st.Nodes[at].Loop
	s.Iteration, s.Attempt = l.Iteration, l.Attempt
	return s
}

// loadPlan reads the plan that a session was started with.
func loadPlan(dir *store.Dir) (*plan.Plan, error) {
	b, err := dir.Read(store.PlanFile, maxPlan)
	if err != nil {
		return nil, err
	}
	var p plan.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, failure.New(failure.StateCorrupt, "read %s: %w", dir.Abs(store.PlanFile), err)
	}
	return &p, nil
}

// Tail calls yield with the last lines events of a session (all, if lines is negative) and, with
// follow, with every further one until ctx ends. An error of yield ends it and is returned.
func (e *Engine) Tail(ctx context.Context, session string, lines int, follow bool, yield func(event.Event) error) error {
	dir, err := e.open(session)
	if err != nil {
		return err
	}
	defer dir.Close()
	ends := end[event.Event]{size: lines}
	log, err := journal.Read(dir, func(ev event.Event) error {
		if lines < 0 {
			return yield(ev)
		}
		ends.add(ev)
		return nil
	})
	if err != nil {
		return err
	}
	for ev := range ends.all() {
		if err := yield(ev); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	for ev, err := range journal.Follow(ctx, dir, log.Last.Seq) {
		if err != nil {
			return err
		}
		if err := yield(ev); err != nil {
			return err
		}
	}
	return nil
}

// Sessions lists the project's sessions, the most recently changed first, from the heads of their
// state.json. Those that cannot be read are listed without a status.
func (e *Engine) Sessions() ([]SessionInfo, error) {
	heads, err := statefile.Heads(e.project, 0, nil)
	if err != nil {
		return nil, err
	}
	infos := make([]SessionInfo, 0, len(heads))
	for _, h := range heads {
		if h.Err != nil {
			e.log.Warn("state of session cannot be read", "session", h.Session, "error", h.Err)
		}
		_, held, err := store.LockHolder(e.project, h.Session)
		if err != nil {
			return nil, err
		}
		infos = append(infos, SessionInfo{
			Session: h.Session, Status: h.Status, Crashed: !held && h.Status == state.Running, Stage: h.Stage,
			Run: h.Run, Runs: h.Runs, Waiting: h.Waiting, Modified: h.Modified,
		})
	}
	return infos, nil
}

// PauseSession asks whoever holds a session to pause it after the running iteration. It fails with
// [ErrTerminal] if the session has ended, and with [ErrNothingToResume] if nobody works on it.
func (e *Engine) PauseSession(_ context.Context, session, reason, by string) error {
	s, err := e.Status(session)
	if err != nil {
		return err
	}
	if !s.Held {
		return idle(session, s)
	}
	return e.post(session, inbox.Message{Action: inbox.Pause, By: by, Reason: reason})
}

// AbortSession ends a session for good: whoever holds it cancels the running iteration; if nobody
// does, the end is journaled here. It fails with [ErrTerminal] if the session has ended already, and
// with [ErrNothingToResume] if it never began.
func (e *Engine) AbortSession(ctx context.Context, session, reason, by string) error {
	s, err := e.Status(session)
	if err != nil {
		return err
	}
	switch {
	case s.Status.Final():
		return refused(ErrTerminal, "session '%s' %s", session, ended(s.Status)).WithHint("there is nothing left to abort")
	case s.Held:
		return e.post(session, inbox.Message{Action: inbox.Abort, By: by, Reason: reason})
	case s.Status == "" && s.Damage == "":
		return neverBegan(session)
	}
	return e.record(ctx, session, event.New(event.Control, nil, "", event.ControlData{
		ID: newID(), Action: "abort", Reason: event.Truncate(reason, event.MaxText), By: event.Truncate(by, event.MaxName),
	}))
}
