package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// RepairOptions selects the session to repair.
type RepairOptions struct {
	Session string
	// At is the place to continue, "NODE" or "NODE:ITERATION" (a node's id and the number of the next
	// iteration). Default: the last place that the files show.
	At string
	// DryRun only reports the repair.
	DryRun bool
}

// Repair describes the recovered session and the repair.
type Repair struct {
	Session string `json:"session"`
	// Intact reports whether no data is missing; then nothing was changed.
	Intact bool `json:"whole"`
	// Lost lists the data that could not be read. Doubt says why the place to continue is a guess, "" if the
	// place is certain or comes from [RepairOptions].
	Lost  []string `json:"lost"`
	Doubt string   `json:"doubt,omitempty"`
	// Status and the fields below describe the session after the repair. Node is "" after the last node.
	Status state.Status `json:"status"`
	// Run is the current run of the whole pipeline, Runs the number of runs; both are 0 for a single run.
	Run       int      `json:"run,omitempty"`
	Runs      int      `json:"runs,omitempty"`
	Node      string   `json:"node"` // path
	Stage     string   `json:"stage"`
	Iteration int      `json:"next_iteration,omitempty"` // next iteration of a stage; 0 for other nodes
	Completed []string `json:"stages_completed"`
	// OldJournal is the absolute path of the old journal, "" if there was no journal or nothing was changed.
	OldJournal string `json:"kept,omitempty"`
	DryRun     bool   `json:"dry_run"`
	// ResumeCommand resumes the session. It is "" if the session has ended or was not changed.
	ResumeCommand string `json:"resume_command,omitempty"`
}

// Repair recovers a session's state from its readable files and begins a new journal with it; the old journal
// is kept in the same directory. It runs nothing. An undamaged session is not changed unless At is given.
//
// The error wraps [ErrLocked] while a kernel holds the session, and [store.ErrNoSession] if there is none. It is of
// kind state_corrupt if neither the files nor At give a place to continue. It is of kind tampered if only the chain of the
// journal is broken, which [Supervisor.Verify] accepts.
func (e *Supervisor) Repair(ctx context.Context, o RepairOptions) (*Repair, error) {
	var at *recovery.Point
	if o.At != "" {
		p, err := recovery.ParsePoint(o.At)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
		at = &p
	}
	configs, _, err := e.env.Settings.Assign(ctx, e.env.Host)
	if err != nil {
		return nil, err
	}
	if err := e.checkUnlocked(o.Session, false); err != nil {
		return nil, err
	}
	if o.DryRun {
		dir, err := inspect.Open(e.env, o.Session)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return newSetup(newHandle(e.env, o.Session, dir), e.env.Host, configs, nil).repair(ctx, at, nil)
	}
	l := newLease(e, o.Session)
	if err := l.acquireForRepair(ctx); err != nil {
		return nil, l.close(err)
	}
	r, err := newSetup(l.handle, e.env.Host, configs, nil).repair(ctx, at, l)
	return r, l.close(err)
}

// acquireForRepair locks the session without opening its journal, which may be damaged.
func (l *lease) acquireForRepair(ctx context.Context) error {
	if err := l.acquire(false, false); err != nil {
		return err
	}
	ended := l.endSurvivors(ctx, l.handle.previousKernels())
	_, err := l.handle.dir.SweepTemps()
	return errors.Join(ended, err)
}

// repair repairs the session that l holds; without l it only reports the repair.
func (s *setup) repair(ctx context.Context, at *recovery.Point, l *lease) (*Repair, error) {
	found, err := s.handle.readFiles()
	if err != nil {
		return nil, err
	}
	recovered, err := s.proposeState(ctx, found, at)
	if err != nil {
		return nil, err
	}
	r := s.repairReport(recovered)
	r.DryRun = l == nil
	if recovered.Complete {
		if err := verification.RefuseChanged(ctx, s.handle.dir, s.handle.log); err != nil {
			return nil, err
		}
		return r, nil
	}
	if r.DryRun {
		return r, nil
	}
	opened := newSession(l, s)
	if r.OldJournal, err = opened.replaceJournal(ctx, found, recovered); err != nil {
		return nil, err
	}
	if !r.Status.Final() {
		r.ResumeCommand = inspect.ResumeCommand(s.handle.env.Config.Program, s.handle.name, s.plan, opened.state)
	}
	return r, nil
}

// proposeState returns the state from which the repaired session continues.
func (s *setup) proposeState(ctx context.Context, found *recovery.SessionFiles, at *recovery.Point) (*recoveredState, error) {
	r, b, err := s.restoreState(ctx, found)
	if r == nil || err != nil && at == nil {
		return nil, err
	}
	if err != nil {
		r.Lost = append(r.Lost, err.Error())
		r.State = state.State{}
	}
	if old := r.State.PlanSHA256; old != b.PlanSHA256 && old != "" && r.src == nil {
		r.Complete = false
		r.Lost = append(r.Lost, "the original plan: plan.json was changed, and its current content is used")
	}
	r.State.PlanSHA256 = b.PlanSHA256
	if at == nil {
		return r, nil
	}
	if r.State, err = found.Place(b, r.State, *at, time.Now().UTC()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	r.Complete, r.Doubt = false, ""
	r.Reason = fmt.Sprintf("repaired to continue at %s", at.Node)
	if at.Iteration > 0 {
		r.Reason += fmt.Sprintf(", iteration %d", at.Iteration)
	}
	return r, nil
}

// repairReport describes the session with the recovered state.
func (s *setup) repairReport(recovered *recoveredState) *Repair {
	st := recovered.State
	r := &Repair{
		Session: s.handle.name, Intact: recovered.Complete, Lost: append([]string{}, recovered.Lost...), Doubt: recovered.Doubt,
		Status: st.Status, Run: st.Run, Runs: st.Runs, Node: st.At, Completed: inspect.CompletedNodes(s.plan, st),
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

// replaceJournal renames the old journal and begins a new journal with the state. It returns the path of the old
// journal.
func (s *session) replaceJournal(ctx context.Context, found *recovery.SessionFiles, recovered *recoveredState) (string, error) {
	if recovered.Doubt != "" {
		recovered.Lost = append(recovered.Lost, "guess: "+recovered.Doubt)
	}
	if recovered.State.StartedAt.IsZero() {
		recovered.State.StartedAt = time.Now().UTC()
	}
	d, err := s.setup.importedData(recovered)
	if err != nil {
		return "", err
	}
	e := s.setup.redactEvent(event.New(event.SessionImported, nil, "", d))
	seq, epoch := found.Last()
	e.RunID, e.Seq, e.Epoch = recovered.State.RunID, seq+1, epoch+1
	heads, err := verification.Load(s.handle.dir, s.handle.log)
	if err != nil {
		return "", err
	}
	if err := heads.Keep(journal.Head{}, s.handle.log); err != nil { // the one of the old journal does not fit the new one
		return "", err
	}
	e, kept, err := journal.Replace(ctx, s.handle.dir, e)
	if err != nil {
		return "", err
	}
	log, err := journal.Verify(s.handle.dir, nil, nil, nil)
	if err != nil {
		return "", err
	}
	log.Chain.End.Accepted = nil // nothing is broken
	if err := heads.Keep(log.Chain.End, s.handle.log); err != nil {
		return "", err
	}
	if kept != "" {
		kept = s.handle.dir.Abs(kept)
	}
	s.replay = s.handle.newReplay(s.setup.plan)
	s.state = state.State{}
	return kept, s.apply([]event.Event{e})
}

// Verify checks whether a session's journal was changed. If accept is set, it accepts all present lines as they are, so
// that the session can be resumed. The error wraps [ErrLocked] if accept is set and a kernel holds the
// session, and [store.ErrNoSession] if there is none.
func (e *Supervisor) Verify(ctx context.Context, name string, accept bool) (*verification.Verification, error) {
	if !accept {
		dir, err := inspect.Open(e.env, name)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return verification.Check(ctx, dir, e.env.Log, false)
	}
	if err := store.CheckSession(name); err != nil {
		return nil, err
	}
	l := newLease(e, name)
	err := l.acquire(false, false)
	if err != nil {
		return nil, l.close(err)
	}
	v, err := verification.Check(ctx, l.handle.dir, l.handle.log, true)
	return v, l.close(err)
}
