package telemetry

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// heldLimit is how many updates wait for one that they follow. Those that come too early are few; after so many, it does
// not come any more.
const heldLimit = 1024

// errHole is why a trace is not whole.
var errHole = errors.New("an event was not seen, and its span may be missing")

// next brings updates into the order of the journal: what only informs may come before what it follows.
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
	s.held[seq] = u
	s.applyHeld()
	if len(s.held) > heldLimit {
		s.skipGap()
	}
}

// applyHeld takes up what follows the last event.
func (s *Session) applyHeld() {
	for {
		next, ok := s.held[s.last+1]
		if !ok {
			return
		}
		delete(s.held, s.last+1)
		s.goLive()
		s.apply(next)
	}
}

// skipGap goes on behind a hole. What comes after it does not count as arrived: whoever reads the journal makes other spans.
func (s *Session) skipGap() {
	s.warn(errHole)
	s.spans.gap()
	s.last = slices.Min(slices.Collect(maps.Keys(s.held))) - 1
	s.applyHeld()
}

// errReached ends the reading of what was before.
var errReached = errors.New("the first event of this kernel")

// begin reads what was in the journal before this kernel, and what of it was sent. Of earlier runs nothing is sent.
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

// goLive is called before what happens in this process is taken up.
func (s *Session) goLive() {
	if !s.live && s.meters != nil {
		s.meters.start()
	}
	s.live = true
}

func (s *Session) apply(u engine.Update) {
	s.last = u.Event.Seq
	if s.meters != nil {
		s.meters.setPipeline(u)
		if s.live {
			s.meters.count(u)
		} else {
			s.meters.restore(*u.Event)
		}
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
	if s.made++; s.made > s.skip {
		s.spans.send(ctx, made)
	}
}
