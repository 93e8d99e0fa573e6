package session

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// activeSessions holds the control channels of the sessions that run in this engine. It is safe for concurrent
// use.
type activeSessions struct {
	mu       sync.Mutex // guards:
	channels map[string]chan<- event.Event
}

// send passes a control event to a running session and reports whether it was accepted.
func (a *activeSessions) send(session string, ev event.Event) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, running := a.channels[session]
	if !running {
		return false
	}
	select {
	case c <- ev:
		return true
	default: // the queue is full: the caller posts to the inbox, where nothing is lost
		return false
	}
}

// add registers a running session; the returned function removes it.
func (a *activeSessions) add(session string) (<-chan event.Event, func(), error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, running := a.channels[session]; running {
		return nil, nil, runsHereError(session)
	}
	if a.channels == nil {
		a.channels = map[string]chan<- event.Event{}
	}
	c := make(chan event.Event, 16)
	a.channels[session] = c
	return c, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.channels, session)
	}, nil
}

// contains reports whether a session runs in this engine.
func (a *activeSessions) contains(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, running := a.channels[session]
	return running
}

// Send passes a control event to a session running here and reports whether it was accepted.
func (e *Supervisor) Send(session string, ev event.Event) bool { return e.active.send(session, ev) }

// Stop asks a session running here to pause after the current iteration, for a pause of kind signal within a time limit.
func (e *Supervisor) Stop(session string, kind state.PauseKind, reason string) {
	e.active.send(session, event.New(event.Control, nil, "", event.ControlData{
		ID: NewID(), Action: "pause", Kind: string(kind), Reason: reason,
	}))
}

// newRunID returns a new run id: PL-<UTC time>-<8 hex> (REQUIREMENTS U057).
func newRunID(now time.Time) string {
	return "PL-" + now.UTC().Format("20060102150405") + "-" + NewID()[:8]
}

// NewID returns 16 random hexadecimal digits.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
