package inbox

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Interval is the time between two looks of a session's holder into the inbox.
const Interval = 250 * time.Millisecond

// Watch looks into the inbox of a session again and again. Only one goroutine may use it.
type Watch struct {
	dir  *store.Dir
	seen map[string]bool // by the last look
}

// NewWatch returns the watch of a session's inbox that has not looked yet.
func NewWatch(d *store.Dir) *Watch { return &Watch{dir: d} }

// Look calls deliver, one call at a time, for each message that was not there the last time, in the order of their
// ids. Each message is delivered once, acknowledged or not; deliver may call [Ack]. With an error it still delivers
// the messages that it could read.
func (w *Watch) Look(deliver func(Message)) error {
	messages, err := Poll(w.dir)
	seen := make(map[string]bool, len(messages))
	for _, m := range messages {
		if m.Action == Rejected || !w.seen[m.ID] {
			deliver(m)
		}
		seen[m.ID] = m.Action != Rejected
	}
	w.seen = seen
	return err
}
