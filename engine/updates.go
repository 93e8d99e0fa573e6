package engine

import (
	"sync"
	"sync/atomic"
)

// Subscription receives the updates of an engine's sessions. Updates that a slow reader misses are dropped and
// counted: the sum of Missed over all updates is [Subscription.Dropped].
type Subscription struct {
	// Updates is closed with the subscription or the engine. Buffered updates can still be read.
	Updates <-chan Update

	session string // "" for all sessions
	buffer  int
	updates chan Update
	dropped atomic.Int64
	close   func()

	// The mutex of the subscribers guards these fields. sent counts the updates put into the channel; gap is the value of
	// sent after the last gap update. missed counts the dropped updates not yet reported.
	sent, gap, missed int
}

// Dropped returns the number of updates dropped because the reader was slow. The journal holds all events.
func (s *Subscription) Dropped() int64 { return s.dropped.Load() }

// Close ends the subscription. It may be called twice.
func (s *Subscription) Close() { s.close() }

// subscribers distributes updates. It is safe for concurrent use.
type subscribers struct {
	mu     sync.Mutex
	all    map[*Subscription]bool
	closed bool
}

// gapSlots is the capacity beyond the buffer: one slot reports the first gap, one reports later drops at the
// end.
const gapSlots = 2

func (s *subscribers) add(session string, buffer int) *Subscription {
	updates := make(chan Update, buffer+gapSlots)
	sub := &Subscription{Updates: updates, session: session, buffer: buffer, updates: updates}
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
		sub.finish()
	}
}

func (s *subscribers) send(u Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		if sub.session == "" || sub.session == u.Session {
			sub.deliver(u)
		}
	}
}

func (s *subscribers) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for sub := range s.all {
		sub.finish()
	}
	s.all = nil
}

// deliver queues an update or counts it as missed. The caller holds the subscribers' mutex: without another
// sender, free slots stay free.
func (s *Subscription) deliver(u Update) {
	waiting, limit := len(s.updates), s.buffer
	gapUnread := s.sent-waiting < s.gap // the reader has not yet received a gap update
	if gapUnread {
		limit++
	}
	if waiting < limit {
		u.Missed, s.missed = s.missed, 0
		s.updates <- u
		s.sent++
		return
	}
	s.dropped.Add(1)
	s.missed++
	if !gapUnread {
		s.sendGap()
		s.gap = s.sent
	}
}

// finish closes the channel after reporting unreported drops.
func (s *Subscription) finish() {
	if s.missed > 0 {
		s.sendGap()
	}
	close(s.updates)
}

func (s *Subscription) sendGap() {
	s.updates <- Update{Session: s.session, Missed: s.missed}
	s.sent++
	s.missed = 0
}
