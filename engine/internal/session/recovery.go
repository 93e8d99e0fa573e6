package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxImported bounds the state in a session_imported event, in bytes; the line has other members too.
const maxImported = event.MaxLine - 4<<10

// recoveredState is a session's state that its journal alone does not yield.
type recoveredState struct {
	recovery.Result
	src *source.Source // the source of a plan that was compiled again; nil for the plan of plan.json
}

// recoverState sets the plan and returns the session's state; t then holds the replay with that plan. The recovered
// state is nil if the journal is complete. No file is written. A doubtful state is refused with a hint to repair the
// session.
func (s *setup) recoverState(ctx context.Context, t *replay) (state.State, *recoveredState, error) {
	if t.isComplete() {
		if err := s.loadPlan(false); err != nil {
			return state.State{}, nil, err
		}
		st, err := t.state(s.handle.name)
		return st, nil, err
	}
	found, err := s.handle.readFiles()
	if err != nil {
		return state.State{}, nil, err
	}
	r, _, err := s.restoreState(ctx, found)
	if err != nil {
		return state.State{}, nil, err
	}
	if err := s.handle.replayAgain(t, s.plan); err != nil {
		return state.State{}, nil, err
	}
	if r.Complete {
		st, err := t.state(s.handle.name)
		return st, nil, err
	}
	if r.Doubt != "" && !r.State.Status.Final() {
		return state.State{}, nil, doubtfulStateError(s.handle.name, r.Result)
	}
	return r.State, r, nil
}

// readFiles reads the session's files for a recovery.
func (h *handle) readFiles() (*recovery.SessionFiles, error) {
	found, err := recovery.Read(h.dir)
	if err == nil && found.IsEmpty() {
		err = inspect.NeverBeganError(h.name)
	}
	return found, err
}

// restoreState sets the plan and recovers the state from damaged files. Without a plan, the result is nil. With any
// other error, the result holds the data that could be read.
func (s *setup) restoreState(ctx context.Context, found *recovery.SessionFiles) (*recoveredState, recovery.Params, error) {
	r := &recoveredState{}
	base, err := s.recoveryParams(ctx, found, r)
	if err != nil {
		return nil, base, err
	}
	if r.Result, err = found.Restore(base); err != nil {
		err = failure.New(failure.StateCorrupt, "session '%s' is damaged: %w", s.handle.name, err).
			WithHint("choose the place with `%s`, or start again with %s", failure.Next("repair", s.handle.name, "--at", "NODE:ITERATION"), failure.Option("force"))
	}
	return r, base, err
}

// recoveryParams returns the inputs of the recovery. A loop of the Bash engine has no plan: its stage is compiled now.
func (s *setup) recoveryParams(ctx context.Context, found *recovery.SessionFiles, r *recoveredState) (recovery.Params, error) {
	b := recovery.Params{
		RunID: newRunID(time.Now()), SchedulerVersion: progress.Version, SkipDelays: s.handle.env.Config.SkipDelays,
		Legacy: s.handle.env.Config.Variable(recovery.LegacyVariable) == "1",
	}
	var err error
	if loop, ok := found.BashLoop(); ok {
		if r.src, err = compileLoop(ctx, s.handle.env, s.handle.name, s.configs, loop); err == nil {
			s.warnings = slices.Concat(s.warnings, r.src.Warnings)
		}
	} else {
		err = s.loadPlan(found.Origin() == recovery.Bash)
	}
	if err != nil {
		return b, err
	}
	if r.src != nil {
		if err := s.setPlan(r.src.Plan); err != nil {
			return b, err
		}
	} else if ref, err := s.handle.dir.Ref(store.PlanFile); err != nil {
		return b, err
	} else {
		b.PlanSHA256 = ref.SHA256
	}
	b.Plan = s.plan
	b.Providers, err = s.blockProviders(ctx)
	return b, err
}

// importedData writes the files of a recovered state and returns the data of its event.
func (s *setup) importedData(r *recoveredState) (event.SessionImportedData, error) {
	if r.src != nil {
		digest, err := s.writePlan(r.src)
		if err != nil {
			return event.SessionImportedData{}, err
		}
		r.State.PlanSHA256 = digest
	}
	d := event.SessionImportedData{Reason: event.Truncate(r.summary(), event.MaxText)}
	ref, err := statefile.WriteHistory(s.handle.dir, s.handle.unusedName("history-%d.json"), r.History)
	if err != nil {
		return d, err
	}
	d.History = &ref
	d.State, err = encodeState(r.State)
	s.logRecovery(r)
	return d, err
}

// summary returns one line: the source of the state and the lost data.
func (r *recoveredState) summary() string {
	if len(r.Lost) == 0 {
		return r.Reason
	}
	return r.Reason + ": " + strings.Join(r.Lost, "; ")
}

func (s *setup) logRecovery(r *recoveredState) {
	if len(r.Lost) == 0 {
		s.handle.log.Info("imported the session's state", "reason", r.Reason)
		return
	}
	s.handle.log.Warn("session files are damaged; continuing from the last certain state", "reason", r.Reason, "lost", event.Truncate(strings.Join(r.Lost, "; "), event.MaxReason))
}

// encodeState encodes a state for a journal line. A state that is too long keeps only the last five decisions of the
// current node, and no decisions of other nodes.
func encodeState(st state.State) (json.RawMessage, error) {
	st = st.Clone()
	st.Epoch = 0 // the next kernel sets the epoch
	text, err := json.Marshal(st)
	if err != nil || len(text) <= maxImported {
		return text, err
	}
	for path, n := range st.Nodes {
		if path != st.At {
			n.Loop.Decisions = nil
		}
		n.Loop.Decisions = n.Loop.Decisions[max(0, len(n.Loop.Decisions)-5):]
		st.Nodes[path] = n
	}
	if text, err = json.Marshal(st); err == nil && len(text) > maxImported {
		err = failure.New(failure.StateCorrupt, "the state of session '%s' has %d bytes, at most %d can be imported", st.Session, len(text), maxImported).
			WithHint("start the session again with %s", failure.Option("force"))
	}
	return text, err
}

// beginEpoch begins the epoch of this kernel, importing the recovered state if there is one.
func (s *session) beginEpoch(ctx context.Context, r *recoveredState, start event.KernelStartData) error {
	if err := s.check.Refusal(); err != nil {
		return err
	}
	if s.check.LacksHeadOnly() { // a project that was moved, or another machine, has none
		s.handle.log.Warn("the journal may be incomplete: " + s.check.BreakText())
	}
	var events []event.Event
	var err error
	if r == nil {
		events, err = s.lease.journal.Start(ctx, start)
	} else {
		var d event.SessionImportedData
		if d, err = s.setup.importedData(r); err != nil {
			return err
		}
		runID := s.state.RunID
		s.state = state.State{}
		events, err = s.lease.journal.Import(ctx, runID, d, start)
	}
	if err != nil {
		return err
	}
	return s.apply(events)
}

// Record journals an event of a session that no kernel holds, and its immediate consequences. The error wraps
// [ErrLocked] if a kernel holds the session, and [ErrTerminal] if the session has ended.
func (e *Supervisor) Record(ctx context.Context, name string, ev event.Event) error {
	s, err := e.openExclusive(ctx, name, false, false)
	if err != nil {
		return err
	}
	return s.lease.close(s.record(ctx, ev))
}

func (s *session) record(ctx context.Context, ev event.Event) error {
	st, recovered, err := s.setup.recoverState(ctx, s.replay)
	if err != nil {
		return err
	}
	s.state = st
	if s.state.Status.Final() {
		return terminalError(s.handle.name, s.state.Status)
	}
	if err := s.beginEpoch(ctx, recovered, s.lease.kernelStartData()); err != nil {
		return err
	}
	if _, invalid := progress.Apply(s.setup.plan, s.state, ev); invalid != nil { // such as an answer to an interrupted attempt
		return NotAcceptedError(s.handle.name, invalid)
	}
	if err := s.commit(ctx, ev); err != nil {
		return err
	}
	if err := s.applyStop(ctx); err != nil {
		return err
	}
	return s.flushViews()
}
