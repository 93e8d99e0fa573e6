package escalation

import (
	"context"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
)

// Open is an escalation that waits for an answer.
type Open struct {
	ID       string
	Question string        // id of the question that it is
	Digest   string        // of what was shown
	Poll     time.Duration // how often to look, more than 0
}

// Watch looks for the resolutions of the escalations that were last sent on open: at once, and then every poll, the
// shortest of them. It calls found, one call at a time, for each content of a file once, until ctx ends.
func Watch(ctx context.Context, d *rundir.Dir, open <-chan []Open, found func(Open, Found)) {
	var now []Open
	var tick <-chan time.Time
	told := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case now = <-open:
		case <-tick:
		}
		for _, o := range now {
			if f, there := Read(d, o.ID); there && told[o.ID] != f.Print {
				told[o.ID] = f.Print
				found(o, f)
			}
		}
		tick = next(now)
	}
}

// next is when to look again, never if nothing is open.
func next(now []Open) <-chan time.Time {
	var poll time.Duration
	for _, o := range now {
		if poll == 0 || o.Poll < poll {
			poll = o.Poll
		}
	}
	if poll == 0 {
		return nil
	}
	return time.After(poll)
}
