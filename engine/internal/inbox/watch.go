package inbox

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Interval is how often the holder of a session looks into its inbox.
const Interval = 250 * time.Millisecond

// maxFaults is the number of looks in a row that may fail before an error is returned.
const maxFaults = 20

// Watch looks into the inbox of a session again and again. Only one goroutine may use it.
type Watch struct {
	dir    *store.Dir
	seen   map[string]bool // by the last look
	faults int             // looks in a row that failed
}

// NewWatch returns the watch of a session's inbox that has not looked yet.
func NewWatch(d *store.Dir) *Watch { return &Watch{dir: d} }

// Look calls deliver for each new message in the order of their ids, one call at a time, until ctx ends. Each message is
// delivered once, acknowledged or not; deliver may call [Ack].
//
// It fails when the session's directory is gone, or could not be read [maxFaults] times in a row.
func (w *Watch) Look(ctx context.Context, deliver func(Message)) error {
	messages, err := Poll(w.dir)
	w.seen = hand(ctx, messages, w.seen, deliver)
	if err == nil {
		w.faults = 0
		return nil
	}
	if w.faults++; w.faults >= maxFaults || w.dir.CheckIntact() != nil {
		return err
	}
	return nil
}

// hand delivers the messages that were not seen in the look before and returns those of this one.
func hand(ctx context.Context, messages []Message, before map[string]bool, deliver func(Message)) map[string]bool {
	now := make(map[string]bool, len(messages))
	for _, m := range messages {
		if ctx.Err() != nil {
			break
		}
		if m.Action == Rejected || !before[m.ID] {
			deliver(m)
		}
		now[m.ID] = m.Action != Rejected
	}
	return now
}
