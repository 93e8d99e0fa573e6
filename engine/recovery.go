package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// legacyVariable makes state.json alone count of what the Bash engine wrote, if it is "1".
const legacyVariable = "AGENT_PIPELINES_LEGACY"

// maxImported bounds the state in a session_imported event, in bytes: the line has other members too.
const maxImported = event.MaxLine - 4<<10

// recalled is a session's state that no fold of its journal gives.
type recalled struct {
	recovery.Result
	src *source // of a plan that is made anew, nil: plan.json
}

// recall reads the session's plan and makes its state, by the journal where that is whole: the result is
// then nil. It writes nothing. A state that is not sure is refused with the way to repair it.
func (s *session) recall(ctx context.Context) (*recalled, error) {
	if s.past.whole() {
		if err := s.loadPlan(false); err != nil {
			return nil, err
		}
		s.follow(s.past)
		return nil, s.fold()
	}
	found, err := recovery.Read(s.dir)
	if err != nil {
		return nil, err
	}
	if s.empty(found) {
		return nil, neverBegan(s.name)
	}
	r, err := s.restore(ctx, found)
	if err != nil {
		return nil, err
	}
	again, err := s.readAgain()
	if err != nil {
		return nil, err
	}
	s.follow(again)
	if r.Whole {
		return nil, s.fold()
	}
	if r.Doubt != "" && !r.State.Status.Final() {
		return nil, doubtful(s.name, r.Result)
	}
	s.state = r.State
	return r, nil
}

// empty reports whether nothing was ever recorded of the session.
func (s *session) empty(found *recovery.SessionFiles) bool {
	if len(found.Lines) > 0 || found.DocumentFault == "" {
		return false
	}
	return isNew(s.dir)
}

// restore makes the state, whatever is lost, and sets the plan.
func (s *session) restore(ctx context.Context, found *recovery.SessionFiles) (*recalled, error) {
	r := &recalled{}
	base, err := s.base(ctx, found, r)
	if err != nil {
		return nil, err
	}
	if r.Result, err = found.Restore(base); err != nil {
		return nil, failure.New(failure.StateCorrupt, "session '%s' is damaged: %w", s.name, err).
			WithHint("`agent-pipelines repair %s --at NODE` goes on where you say; --force starts it again from the beginning", s.name)
	}
	return r, nil
}

// base finds the plan for the state: a loop of the Bash engine has none, and gets one now.
func (s *session) base(ctx context.Context, found *recovery.SessionFiles, r *recalled) (recovery.Base, error) {
	b := recovery.Base{
		RunID: newRunID(time.Now()), SchedulerVersion: schedule.Version, SkipDelays: s.engine.config.skipDelays,
		Legacy: s.engine.config.variable(legacyVariable) == "1",
	}
	var err error
	if found.Origin() == recovery.Bash && found.IsLoop() {
		r.src, err = s.loopSource(ctx, found.Loop())
	} else {
		err = s.loadPlan(found.Origin() == recovery.Bash)
	}
	if err != nil {
		return b, err
	}
	if r.src != nil {
		if err := s.heed(r.src.plan); err != nil {
			return b, err
		}
	} else if ref, err := s.dir.Ref(store.PlanFile); err != nil {
		return b, err
	} else {
		b.PlanSHA256 = ref.SHA256
	}
	b.Plan = s.plan
	b.Providers, err = s.blockProviders(ctx)
	return b, err
}

// loadPlan reads plan.json; of the Bash engine's it makes sure that it can be run.
func (s *session) loadPlan(ofBash bool) error {
	p, err := loadPlan(s.dir)
	if err == nil && ofBash {
		err = recovery.Complete(p)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.StateCorrupt, "session '%s' has no plan.json", s.name).WithHint("start it again with --force")
	case err != nil && (ofBash || failure.KindOf(err) == failure.StateCorrupt):
		return failure.New(failure.StateCorrupt, "plan.json of session '%s' cannot be used: %w", s.name, err).
			WithHint("a resume does not compile: put the file back, or start the session again with --force, which does")
	}
	if err != nil {
		return err
	}
	return s.heed(p)
}

// loopSource compiles the stage of a loop whose session has no plan, with what its files tell.
func (s *session) loopSource(ctx context.Context, l recovery.Loop) (*source, error) {
	if l.Stage == "" {
		return nil, failure.New(failure.StateCorrupt, "nothing in session '%s' tells which stage it runs", s.name).
			WithHint("start it again with --force")
	}
	src, err := s.engine.compile(ctx, RunOptions{Stage: l.Stage, Max: l.Max, Session: s.name, Provider: l.Provider, Model: l.Model}, s.configs, true)
	if err != nil {
		return nil, fmt.Errorf("make the plan of session %q anew: %w", s.name, err)
	}
	if l.Inputs != nil {
		src.plan.Session.Inputs = l.Inputs
	}
	s.warnings = slices.Concat(s.warnings, src.warnings)
	return src, nil
}

// planOfLoop makes the plan of a loop of the Bash engine, which wrote none; nil if the session is no such loop.
func (e *Engine) planOfLoop(ctx context.Context, name string, dir *store.Dir, configs userConfigs) (*plan.Plan, error) {
	found, err := recovery.Read(dir)
	if err != nil || found.Origin() != recovery.Bash || !found.IsLoop() {
		return nil, err
	}
	s := &session{engine: e, name: name, dir: dir, configs: configs}
	src, err := s.loopSource(ctx, found.Loop())
	if err != nil {
		return nil, err
	}
	return src.plan, nil
}

// takeHold begins the epoch of this kernel, with the recalled state if there is one.
func (s *session) takeHold(ctx context.Context, r *recalled) error {
	var events []event.Event
	var err error
	if r == nil {
		events, err = s.journal.Start(ctx, s.kernelStart())
	} else {
		var d event.SessionImportedData
		if d, err = s.imported(r); err != nil {
			return err
		}
		runID := s.state.RunID
		s.state = state.State{}
		events, err = s.journal.Import(ctx, runID, d, s.kernelStart())
	}
	if err != nil {
		return err
	}
	return s.apply(events)
}

// imported writes the files that go with a recalled state and makes the event's data.
func (s *session) imported(r *recalled) (event.SessionImportedData, error) {
	if r.src != nil {
		digest, err := s.writePlan(r.src)
		if err != nil {
			return event.SessionImportedData{}, err
		}
		r.State.PlanSHA256 = digest
	}
	d := event.SessionImportedData{Reason: event.Truncate(r.why(), event.MaxText)}
	ref, err := statefile.WriteHistory(s.dir, s.freeName("history-%d.json"), r.History)
	if err != nil {
		return d, err
	}
	d.History = &ref
	d.State, err = pack(r.State)
	s.tell(r)
	return d, err
}

// why says in one line where the state is from and what was lost.
func (r *recalled) why() string {
	if len(r.Lost) == 0 {
		return r.Reason
	}
	return r.Reason + ": " + strings.Join(r.Lost, "; ")
}

func (s *session) tell(r *recalled) {
	if len(r.Lost) == 0 {
		s.log.Info("the session is taken over", "reason", r.Reason)
		return
	}
	s.log.Warn("the session's files are not whole; it goes on from what is known for sure", "reason", r.Reason, "lost", event.Truncate(strings.Join(r.Lost, "; "), event.MaxReason))
}

// freeName is the first name of the form that no file of the session has.
func (s *session) freeName(form string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf(form, n)
		if _, err := s.dir.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}

// pack renders a state so that it fits into a line: past decisions of nodes that are done help nobody.
func pack(st state.State) (json.RawMessage, error) {
	st = st.Clone()
	st.Epoch = 0 // of the kernel that takes hold
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
			WithHint("start the session again with --force")
	}
	return text, err
}
