package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// RepairOptions say how a session is repaired.
type RepairOptions struct {
	Session string
	// At is where the session is to go on, "NODE" or "NODE:ITERATION" (the id of a node, the number of the
	// next iteration). Default: where its files show that it was.
	At string
	// DryRun only finds out what would be done.
	DryRun bool
}

// Repair is what is known of a session, and what was done.
type Repair struct {
	Session string `json:"session"`
	// Whole: nothing is missing and nothing was done.
	Whole bool `json:"whole"`
	// Lost are the things that could not be read. Doubt is why the place to go on is a guess, "" if it is
	// sure or was given.
	Lost  []string `json:"lost"`
	Doubt string   `json:"doubt,omitempty"`
	// Status and the following say how the session stands after the repair. Node is "" if it is past the
	// last one.
	Status state.Status `json:"status"`
	// Run is the run of the whole pipeline that it is in, of Runs; 0 where it runs once.
	Run       int      `json:"run,omitempty"`
	Runs      int      `json:"runs,omitempty"`
	Node      string   `json:"node"` // path
	Stage     string   `json:"stage"`
	Iteration int      `json:"next_iteration,omitempty"` // that a resume begins or decides about; 0 outside stages
	Completed []string `json:"stages_completed"`
	// Kept is the absolute path of the old journal, "" if there was none or nothing was done.
	Kept   string `json:"kept,omitempty"`
	DryRun bool   `json:"dry_run"`
	// ResumeCommand goes on with the session, "" if it has ended or was not changed.
	ResumeCommand string `json:"resume_command,omitempty"`
}

// Repair makes a session's state from what can be read of its files and lets it begin with that: the old
// journal is kept beside a new one. It runs nothing. A session that lacks nothing is left alone unless At
// is given. It fails with [ErrLocked] while a kernel holds the session, with [ErrNoSession] if there is
// none, and with a failure of kind state_corrupt if the files tell nothing and At does not either.
func (e *Engine) Repair(ctx context.Context, o RepairOptions) (*Repair, error) {
	var at *recovery.Point
	if o.At != "" {
		p, err := recovery.ParsePoint(o.At)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
		at = &p
	}
	s := &session{engine: e, name: o.Session, log: e.log.With("session", o.Session), started: time.Now(), host: e.host, observe: func(Update) {}}
	configs, _, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	s.configs = configs
	if err := s.openToRepair(ctx, o.DryRun); err != nil {
		return nil, s.close(err)
	}
	r, err := s.repair(ctx, at, o.DryRun)
	return r, s.close(err)
}

// openToRepair opens the session's directory, and takes the session unless it is only looked at.
func (s *session) openToRepair(ctx context.Context, look bool) error {
	if err := store.CheckSession(s.name); err != nil {
		return err
	}
	if s.engine.runs(s.name) {
		return runsHere(s.name)
	}
	if !look {
		if err := s.acquire(false, false); err != nil {
			return err
		}
		return errors.Join(s.sweep(ctx, s.pastKernels()), s.sweepTemps())
	}
	dir, err := s.engine.open(s.name)
	if err != nil {
		return err
	}
	s.dir = dir
	s.closers = append(s.closers, dir.Close)
	holder, held, err := store.LockHolder(s.engine.project, s.name)
	if err == nil && held {
		err = alreadyRunning(s.name, holder.PID)
	}
	return err
}

func (s *session) repair(ctx context.Context, at *recovery.Point, look bool) (*Repair, error) {
	found, err := recovery.Read(s.dir)
	if err != nil {
		return nil, err
	}
	if s.empty(found) {
		return nil, neverBegan(s.name)
	}
	from, err := s.proposal(ctx, found, at)
	if err != nil {
		return nil, err
	}
	r := s.repaired(from)
	if r.DryRun = look; look || from.Whole {
		return r, nil
	}
	if r.Kept, err = s.renew(ctx, found, from); err != nil {
		return nil, err
	}
	if !r.Status.Final() {
		r.ResumeCommand = resumeCommand(s.name, s.plan, s.state)
	}
	return r, nil
}

// proposal is the state that the session is to begin with.
func (s *session) proposal(ctx context.Context, found *recovery.SessionFiles, at *recovery.Point) (*recalled, error) {
	r := &recalled{}
	b, err := s.base(ctx, found, r)
	if err != nil {
		return nil, err
	}
	r.Result, err = found.Restore(b)
	if err != nil && at == nil {
		return nil, s.hopeless(err)
	}
	if err != nil {
		r.Lost = append(r.Lost, err.Error())
		r.State = state.State{}
	}
	if was := r.State.PlanSHA256; was != b.PlanSHA256 && was != "" && r.src == nil {
		r.Whole = false
		r.Lost = append(r.Lost, "the plan that the session was started with: plan.json was changed, and counts as it is now")
	}
	r.State.PlanSHA256 = b.PlanSHA256
	if at == nil {
		return r, nil
	}
	if r.State, err = found.Place(b, r.State, *at, time.Now().UTC()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	r.Whole, r.Doubt = false, ""
	r.Reason = fmt.Sprintf("repaired, to go on at %s", at.Node)
	if at.Iteration > 0 {
		r.Reason += fmt.Sprintf(", iteration %d", at.Iteration)
	}
	return r, nil
}

func (s *session) hopeless(err error) error {
	return failure.New(failure.StateCorrupt, "session '%s' cannot be repaired from its files: %w", s.name, err).
		WithHint("`agent-pipelines repair %s --at NODE:ITERATION` goes on where you say; --force of the verb that began it starts again from the beginning", s.name)
}

// repaired says how the session stands.
func (s *session) repaired(from *recalled) *Repair {
	st := from.State
	r := &Repair{
		Session: s.name, Whole: from.Whole, Lost: append([]string{}, from.Lost...), Doubt: from.Doubt,
		Status: st.Status, Run: st.Run, Runs: st.Runs, Node: st.At, Completed: completed(s.plan, st),
	}
	n := s.plan.Find(st.At)
	if n == nil {
		return r
	}
	r.Stage = n.ID
	if n.Kind == plan.KindStage {
		l := st.Nodes[n.Path].Loop
		r.Iteration = l.Completed + 1
		if limit := n.Termination.Max(); limit > 0 {
			r.Iteration = min(r.Iteration, limit)
		}
	}
	return r
}

// renew puts the old journal aside and begins a new one with the state. It returns where the old one is.
func (s *session) renew(ctx context.Context, found *recovery.SessionFiles, from *recalled) (string, error) {
	if from.Doubt != "" {
		from.Lost = append(from.Lost, "what is a guess: "+from.Doubt)
	}
	if from.State.StartedAt.IsZero() {
		from.State.StartedAt = time.Now().UTC()
	}
	d, err := s.imported(from)
	if err != nil {
		return "", err
	}
	e := event.New(event.SessionImported, nil, "", d)
	seq, epoch := found.Last()
	e.RunID, e.Seq, e.Epoch = from.State.RunID, seq+1, epoch+1
	e, kept, err := journal.Renew(ctx, s.dir, e)
	if err != nil {
		return "", err
	}
	if kept != "" {
		kept = s.dir.Abs(kept)
	}
	s.follow(s.pastOf(s.plan))
	s.state = state.State{}
	return kept, s.apply([]event.Event{e})
}
