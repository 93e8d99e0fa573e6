package inbox

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
)

// Interval is how often the holder of a session looks into its inbox.
const Interval = 250 * time.Millisecond

// maxFaults is how many polls in a row may fail before Watch gives up.
const maxFaults = 20

// Watch calls deliver, one call at a time, for each message that lies there or appears later, in the
// order of their ids. Each message is delivered once, acknowledged or not; deliver may call [Ack]. An
// interval of 0 is [Interval].
//
// It returns nil when ctx ends, and an error when the session's directory is gone or cannot be read
// for [maxFaults] polls in a row.
func Watch(ctx context.Context, d *rundir.Dir, interval time.Duration, deliver func(Message)) error {
	if interval <= 0 {
		interval = Interval
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	seen := map[string]bool{}
	for faults := 0; ctx.Err() == nil; {
		messages, err := Poll(d)
		seen = hand(ctx, messages, seen, deliver)
		if err == nil {
			faults = 0
		} else if faults++; faults == maxFaults || d.Intact() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// hand delivers the messages that were not seen in the poll before and returns those of this poll.
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
