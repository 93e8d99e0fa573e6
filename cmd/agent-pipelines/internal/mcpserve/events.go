package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// These are the limits of one call of the tool events.
const (
	fewEvents, mostEvents = 50, 200
	maxEvents             = 128 << 10 // bytes
)

type eventsIn struct {
	sessionArgument
	After       int64 `json:"after,omitempty" jsonschema:"only events with a higher number (seq); default 0, which is all"`
	Limit       int   `json:"limit,omitempty" jsonschema:"how many at most, 1 to 200; default 50"`
	WaitSeconds int   `json:"wait_seconds,omitempty" jsonschema:"wait so long at most for the next event, 0 to 300; default 0"`
}

type eventsOut struct {
	Events []any `json:"events" jsonschema:"as in the journal"`
	Last   int64 `json:"last" jsonschema:"the number to continue after"`
	More   bool  `json:"more" jsonschema:"there are more already"`
	Owned  bool  `json:"held" jsonschema:"a process works on the session: events will follow"`
}

func (s *server) events(ctx context.Context, _ call, in eventsIn) (out eventsOut, err error) {
	limit, err := number("limit", in.Limit, fewEvents, mostEvents)
	switch {
	case err != nil:
		return out, err
	case in.After < 0:
		return out, wrong(fmt.Sprintf("after cannot be %d", in.After), "give the number of an event, or 0 for all")
	case in.WaitSeconds < 0 || in.WaitSeconds > mostWait:
		return out, wrong(fmt.Sprintf("wait_seconds cannot be %d", in.WaitSeconds), fmt.Sprintf("give a number from 0 to %d", mostWait))
	}
	return out, s.Use(ctx, func(e *engine.Engine) error {
		if out, err = eventsAfter(ctx, e, in, limit); err != nil {
			return err
		}
		if len(out.Events) > 0 || in.WaitSeconds == 0 {
			return nil
		}
		err := s.follow(ctx, e, in.Session, -1, time.Duration(in.WaitSeconds)*time.Second, func(u engine.Update) (enough bool) { return u.Event.Seq > in.After })
		if err != nil {
			return err
		}
		out, err = eventsAfter(ctx, e, in, limit)
		return err
	})
}

// eventsAfter reads the events after the number in.After, as many as the limits allow.
func eventsAfter(ctx context.Context, e *engine.Engine, in eventsIn, limit int) (eventsOut, error) {
	out, size := eventsOut{Events: []any{}, Last: in.After}, 0
	err := e.Tail(ctx, in.Session, -1, false, func(ev event.Event) error {
		if ev.Seq <= in.After {
			return nil
		}
		line, err := ev.AppendLine(nil)
		if err != nil {
			return err
		}
		if size += len(line); len(out.Events) == limit || len(out.Events) > 0 && size > maxEvents {
			out.More = true
			return errEnough
		}
		out.Events, out.Last = append(out.Events, json.RawMessage(line)), ev.Seq
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return out, err
	}
	st, err := e.Status(in.Session)
	if err != nil {
		return out, err
	}
	out.Owned = st.Locked
	return out, nil
}
