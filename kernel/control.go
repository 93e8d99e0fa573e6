package kernel

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/inbox"
)

// listen merges what this process and others ask of the session into one channel. The returned
// function ends it and waits for its goroutines.
func (s *session) listen(local <-chan event.Event) (<-chan event.Event, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	merged := make(chan event.Event)
	pass := func(e event.Event) {
		select {
		case merged <- e:
		case <-ctx.Done():
		}
	}
	handled := s.state.Handled
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case e := <-local:
				pass(e)
			case <-ctx.Done():
				return
			}
		}
	})
	wg.Go(func() {
		err := inbox.Watch(ctx, s.dir, 0, func(m inbox.Message) {
			if m.Action == inbox.Rejected {
				s.log.Warn("a file in the inbox is no message", "name", m.ID, "reason", m.Reason)
				return
			}
			if slices.Contains(handled, m.ID) { // journaled before a crash, and not removed
				s.ack(m.ID)
				return
			}
			pass(event.New(event.Control, nil, "", event.ControlData{
				ID: m.ID, Action: string(m.Action), By: event.Brief(m.By, event.MaxName), Reason: event.Brief(m.Reason, event.MaxText),
			}))
		})
		if err != nil && ctx.Err() == nil {
			s.log.Error("the inbox cannot be read: pause and abort from other terminals do not arrive", "error", err)
		}
	})
	return merged, func() { cancel(); wg.Wait() }
}

// overtakenPoll is how often a running kernel looks whether it still holds its session.
const overtakenPoll = time.Second

// overtakenWait is how long a kernel that takes a session by force waits for the older one to let go: it
// notices within overtakenPoll and then cancels its agent and stops its plugins.
const overtakenWait = 15 * time.Second

// watchJournal cancels the run when another kernel has taken the session over by force: an attempt
// that waits for its agent writes nothing that would notice.
func (s *session) watchJournal(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(overtakenPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.journal.Check(ctx); err != nil {
			cancel(err)
			return
		}
	}
}

// acknowledge removes a message of the inbox once it is in the journal.
func (s *session) acknowledge(e event.Event) {
	if e.Type != event.Control {
		return
	}
	d, err := event.Decode[event.ControlData](e)
	if err != nil || d.ID == "" {
		return
	}
	s.ack(d.ID)
}

func (s *session) ack(id string) {
	if err := inbox.Ack(s.dir, id); err != nil {
		s.log.Warn("message not removed from the inbox", "id", id, "error", err)
	}
}

// request leaves a message for whoever holds the session.
func (e *Engine) request(session, action, reason, by string) error {
	dir, err := e.open(session)
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = inbox.Post(dir, inbox.Message{Action: inbox.Action(action), By: by, Reason: reason})
	return err
}
