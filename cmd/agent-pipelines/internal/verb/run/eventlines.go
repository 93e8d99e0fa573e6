package run

import (
	"io"
	"sync"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// EventLines prints events while a session runs, one in a line. The session does not wait for their reader: what is not
// read yet waits in memory, and none is left out. A nil one prints nothing.
type EventLines struct {
	to      io.Writer
	passing sync.WaitGroup

	mu      sync.Mutex // guards:
	more    *sync.Cond
	waiting []byte
	ended   bool
	gone    bool // the reader is
}

// NewEventLines begins to print events, with --json; else it is nil. The caller closes it.
func NewEventLines(a *cli.App) *EventLines {
	if !a.JSON {
		return nil
	}
	l := &EventLines{to: a.Stdout}
	l.more = sync.NewCond(&l.mu)
	l.passing.Go(l.pass)
	return l
}

// Observe takes the event of an update, if it has one. An event that was journaled can be rendered.
func (l *EventLines) Observe(u engine.Update) {
	if l == nil || u.Event == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	if line, err := u.Event.AppendLine(l.waiting); err == nil {
		l.waiting = line
	}
	l.more.Signal()
}

// Close waits until the reader has everything, or is gone.
func (l *EventLines) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.ended = true
	l.more.Signal()
	l.mu.Unlock()
	l.passing.Wait()
}

// pass writes what waits, until the end.
func (l *EventLines) pass() {
	for {
		text, ok := l.next()
		if !ok {
			return
		}
		if _, err := l.to.Write(text); err != nil {
			l.mu.Lock()
			l.gone, l.waiting = true, nil
			l.mu.Unlock()
		}
	}
}

// next waits for something to be written; ok is false at the end.
func (l *EventLines) next() (text []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) == 0 && !l.ended {
		l.more.Wait()
	}
	text, l.waiting = l.waiting, nil
	return text, len(text) > 0
}
