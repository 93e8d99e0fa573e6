package session

import (
	"context"
	"errors"

	"github.com/dodo-digital/agent-pipelines/engine/internal/derived"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func (s *session) journalOptions() journal.Options {
	o := s.engine.env.Config.Journal(s.engine.env.Log)
	o.Redact = s.redactEvent
	return o
}

// commit appends an event to the journal and applies it.
func (s *session) commit(ctx context.Context, e event.Event) error {
	events, err := s.journal.Append(ctx, e)
	if err != nil {
		return err
	}
	return s.apply(events)
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

// fold takes the state from the replay. Late deliveries are invalid again and ignored.
func (s *session) fold() error {
	st, err := s.replay.fold.State()
	if err != nil {
		return failure.New(failure.StateCorrupt, "read the journal of session '%s': %w", s.name, err).
			WithHint("use the version that wrote it, or start the session again with --force")
	}
	s.state = st
	return nil
}

// newReplay returns an empty replay for a plan, which may be nil.
func (s *session) newReplay(p *plan.Plan) *replay {
	t := &replay{marker: s.processMarker()}
	if p != nil {
		t.fold, t.stateFile, t.timeline = recovery.NewFold(s.dir, p), statefile.New(s.dir, p), timeline.New(p)
	}
	return t
}

// replayJournal reads the journal of a session that is not opened for writing.
func (s *session) replayJournal(p *plan.Plan) (*replay, error) {
	t := s.newReplay(p)
	var err error
	t.log, err = journal.Read(s.dir, func(e event.Event) error {
		t.apply(e)
		return nil
	})
	return t, err
}

// replayAgain reads the journal with the session's recovered plan, up to the last event read before.
func (s *session) replayAgain() (*replay, error) {
	t := s.newReplay(s.plan)
	t.log = s.replay.log
	_, err := journal.Read(s.dir, func(e event.Event) error {
		if e.Seq <= t.log.Last.Seq {
			t.apply(e)
		}
		return nil
	})
	return t, err
}

// previousKernels returns the kernels that have run a session, as far as its journal is readable.
func (s *session) previousKernels() []process.Marker {
	t, err := s.replayJournal(nil)
	if err != nil {
		s.log.Debug("could not read the journal", "error", err)
	}
	return t.kernels
}

// useReplay continues the derived files of a session from a replay.
func (s *session) useReplay(t *replay) {
	s.replay, s.stateFile, s.timeline, s.derived = t, t.stateFile, t.timeline, derived.New(t.timeline)
}

// redactEvent removes secrets from an event before it is journaled, and completes its command lines.
func (s *session) redactEvent(e event.Event) event.Event {
	e = redaction.Event(s.redactor, e)
	if e.Type != event.ToolCall && e.Type != event.ToolResult { // their arguments and results are the agent's
		e.Data = completeCommands(e.Data, s.engine.env.Config.Program)
	}
	return e
}
