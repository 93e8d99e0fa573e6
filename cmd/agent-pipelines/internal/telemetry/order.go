package telemetry

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// heldLimit bounds the updates that wait for an earlier one. After so many, that one is considered lost.
const heldLimit = 1024

// errHole is the reason for an incomplete trace.
var errHole = errors.New("an event was not seen, and its span may be missing")

// next sorts updates by their number, because informative events may arrive early.
func (s *Session) next(ctx context.Context, u engine.Update) {
	seq := u.Event.Seq
	switch {
	case ctx.Err() != nil:
		return
	case s.run == "":
		s.begin(ctx, u)
	case seq <= s.last:
		return
	}
	s.waiting[seq] = u
	s.applyHeld()
	if len(s.waiting) > heldLimit {
		s.skipGap()
	}
}

// applyHeld applies the updates that follow the last event.
func (s *Session) applyHeld() {
	for {
		next, ok := s.waiting[s.last+1]
		if !ok {
			return
		}
		delete(s.waiting, s.last+1)
		s.goLive()
		s.apply(next)
	}
}

// skipGap continues after lost updates. Later spans do not count as sent, because a reader of the journal builds others.
func (s *Session) skipGap() {
	s.warn(errHole)
	s.spans.gap()
	s.last = slices.Min(slices.Collect(maps.Keys(s.waiting))) - 1
	s.applyHeld()
}

// errReached ends the reading of earlier events.
var errReached = errors.New("the first event of this kernel")

// begin reads the earlier events of the run, and the number of spans already sent. It sends nothing of earlier runs.
func (s *Session) begin(ctx context.Context, u engine.Update) {
	s.run = u.Event.RunID
	s.skip = s.arrived.open(u.Dir, s.run)
	if u.Event.Seq > 1 {
		err := s.options.Follow(ctx, u.Session, func(before engine.Update) error {
			if before.Event.Seq >= u.Event.Seq {
				return errReached
			}
			s.apply(before)
			return ctx.Err()
		})
		switch {
		case ctx.Err() != nil:
			s.warn(errLate)
		case err != nil && !errors.Is(err, errReached):
			s.warn(err)
		}
	}
	s.last = u.Event.Seq - 1
}

// goLive is called before the first event of this process is applied.
func (s *Session) goLive() {
	if !s.live && s.meters != nil {
		s.meters.start()
	}
	s.live = true
}

func (s *Session) apply(u engine.Update) {
	s.last = u.Event.Seq
	if s.timeline == nil {
		s.timeline = timeline.New(cmp.Or(u.Plan, &plan.Plan{}))
	}
	if e, ok := s.timeline.Apply(*u.Event); ok && s.meters != nil {
		s.meters.setPipeline(u)
		s.meters.count(u, e)
	}
	s.builder.Apply(*u.Event, u.State, u.Plan)
}

// ended sends a span, unless an earlier kernel has.
func (s *Session) ended(ctx context.Context, made trace.Span) {
	if made.Trace != event.RunTraceID(s.run) {
		return
	}
	if s.live && s.meters != nil {
		s.meters.addSpan(made)
	}
	if s.spans == nil {
		return
	}
	if s.count++; s.count > s.skip {
		s.spans.send(ctx, made)
	}
}
