package session

import (
	"context"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
)

// Record journals an event of a session that no kernel holds, and its immediate consequences.
func (e *Supervisor) Record(ctx context.Context, name string, ev event.Event) error {
	s, err := e.openExclusive(ctx, name, false, false)
	if err != nil {
		return err
	}
	return s.close(s.record(ctx, ev))
}

func (s *session) record(ctx context.Context, ev event.Event) error {
	from, err := s.recoverState(ctx)
	if err != nil {
		return err
	}
	if s.state.Status.Final() {
		return terminalError(s.name, s.state.Status)
	}
	if err := s.beginEpoch(ctx, from); err != nil {
		return err
	}
	if _, invalid := progress.Apply(s.plan, s.state, ev); invalid != nil { // such as an answer to an interrupted attempt
		return NotAcceptedError(s.name, invalid)
	}
	if err := s.commit(ctx, ev); err != nil {
		return err
	}
	if err := s.applyStop(ctx); err != nil {
		return err
	}
	return s.flushViews()
}

// applyStop ends or pauses a session without running effects, if that was requested.
func (s *session) applyStop(ctx context.Context) error {
	for s.state.Stop != nil {
		due := schedule.Decide(s.plan, s.state)
		if len(due) == 0 {
			break
		}
		for _, c := range due {
			if c.Kind != schedule.Record {
				return fmt.Errorf("end session %s: %s is still running", s.name, c.Key)
			}
			if err := s.commit(ctx, *c.Event); err != nil {
				return err
			}
		}
	}
	return nil
}
