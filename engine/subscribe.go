package engine

import (
	"sync"
	"sync/atomic"
)

// Subscription receives what happens in the sessions of an engine. What its reader is too slow for is left
// out, and said in the stream: the Missed of all updates, added up, is [Subscription.Dropped].
type Subscription struct {
	// Updates is closed when the subscription or the engine is closed. What was delivered until then can
	// still be read.
	Updates <-chan Update

	session string // whose updates are wanted, "" for all
	buffer  int
	updates chan Update
	dropped atomic.Int64
	close   func()

	// The mutex of the subscribers guards:
	sent   int // how many updates were put into the channel
	gap    int // the number of the last one that only told of a gap, 0 for none
	missed int // how many of the dropped ones no update tells of yet
}

// Dropped is how many updates were left out so far because the reader was slower than its buffer. The
// journal holds all events.
func (s *Subscription) Dropped() int64 { return s.dropped.Load() }

// Close ends the subscription. Twice does no harm.
func (s *Subscription) Close() { s.close() }

// Subscribe returns a channel of everything that happens in this engine's sessions from now on. The
// engine never waits for the reader: buffer updates wait for it (at least 1), and what does not fit is left
// out. The gap is told at once, by an update that has nothing but Missed, so that a reader who waits for an
// event that was left out is not left waiting: it asks [Engine.Status] then, or reads the journal with
// [Engine.Tail]. The caller closes the subscription, or the engine does.
func (e *Engine) Subscribe(buffer int) *Subscription { return e.SubscribeSession("", buffer) }

// SubscribeSession is [Engine.Subscribe] for one session, which may be yet to begin; "" is all of them.
func (e *Engine) SubscribeSession(session string, buffer int) *Subscription {
	return e.subscribers.add(session, max(buffer, 1))
}

// subscribers hands updates out. It is safe for concurrent use.
type subscribers struct {
	mu     sync.Mutex
	all    map[*Subscription]bool
	closed bool
}

// gaps are the places of a channel beyond its buffer: one for the first update that does not fit, to say so,
// and one for the end, to say what was left out since.
const gaps = 2

func (s *subscribers) add(session string, buffer int) *Subscription {
	updates := make(chan Update, buffer+gaps)
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
		sub.end()
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
		sub.end()
	}
	s.all = nil
}

// deliver gives an update to the reader, or notes that it is missed. The subscribers' mutex is held: nobody
// else writes to the channel, so that what is free stays free.
func (s *Subscription) deliver(u Update) {
	waiting, room := len(s.updates), s.buffer
	told := s.sent-waiting < s.gap // the reader has a gap before it already
	if told {
		room++
	}
	if waiting < room {
		u.Missed, s.missed = s.missed, 0
		s.put(u)
		return
	}
	s.dropped.Add(1)
	s.missed++
	if !told {
		s.tell()
		s.gap = s.sent
	}
}

// end closes the channel; what was missed and not told is its last update.
func (s *Subscription) end() {
	if s.missed > 0 {
		s.tell()
	}
	close(s.updates)
}

func (s *Subscription) tell() {
	s.put(Update{Session: s.session, Missed: s.missed})
	s.missed = 0
}

func (s *Subscription) put(u Update) {
	s.updates <- u
	s.sent++
}
