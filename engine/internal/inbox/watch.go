package inbox

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Interval is the time between two reads of the inbox by a session's holder.
const Interval = 250 * time.Millisecond

// Watch reads the inbox of a session repeatedly. It is not safe for concurrent use.
type Watch struct {
	dir  *store.Dir
	seen map[string]bool // ids of the messages in the last read
}

// NewWatch returns a watch that has not read the session's inbox yet.
func NewWatch(d *store.Dir) *Watch { return &Watch{dir: d} }

// Poll reads the inbox and calls deliver for each message that the last read did not find, in the order of their ids.
// Each message is delivered once, acknowledged or not; deliver may call [Ack]. With an error Poll also delivers the
// messages that it could read.
func (w *Watch) Poll(deliver func(Message)) error {
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
