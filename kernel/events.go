package kernel

import (
	"sync"
	"sync/atomic"
)

// Subscription receives what happens in the sessions of an engine.
type Subscription struct {
	// Updates is closed when the subscription or the engine is closed.
	Updates <-chan Update

	updates chan Update
	dropped atomic.Int64
	close   func()
}

// Dropped is how many updates were left out because the reader was slower than its buffer. The
// journal holds all events.
func (s *Subscription) Dropped() int64 { return s.dropped.Load() }

// Close ends the subscription.
func (s *Subscription) Close() { s.close() }

// Subscribe returns a channel of everything that happens in this engine's sessions from now on. The
// engine never waits for the reader: what does not fit into the buffer is counted and left out.
func (e *Engine) Subscribe(buffer int) *Subscription {
	return e.subscribers.add(buffer)
}

// subscribers hands updates out. It is safe for concurrent use.
type subscribers struct {
	mu     sync.Mutex
	all    map[*Subscription]bool
	closed bool
}

func (s *subscribers) add(buffer int) *Subscription {
	updates := make(chan Update, buffer)
	sub := &Subscription{Updates: updates, updates: updates}
	sub.close = func() { s.remove(sub) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(updates)
		return sub
	}
	if s.all == nil {
		s.all = map[*Subscription]bool{}
	}
	s.all[sub] = true
	return sub
}

func (s *subscribers) remove(sub *Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[sub] {
		delete(s.all, sub)
		close(sub.updates)
	}
}

func (s *subscribers) send(u Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		select {
		case sub.updates <- u:
		default:
			sub.dropped.Add(1)
		}
	}
}

func (s *subscribers) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for sub := range s.all {
		close(sub.updates)
	}
	s.all = nil
}
