package question

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Open is an escalation that waits for an answer.
type Open struct {
	ID       string
	Question string        // id of the question that it is
	Digest   string        // of the shown files
	Poll     time.Duration // how often to look, more than 0
}

// Watch looks for the resolutions of open escalations. Only one goroutine may use it.
type Watch struct {
	dir      *store.Dir
	reported map[string]string // digest of the latest file, by escalation
}

// NewWatch returns the watch of a session's resolutions that has not found any yet.
func NewWatch(d *store.Dir) *Watch { return &Watch{dir: d, reported: map[string]string{}} }

// Look calls report for each new content of a file, one call at a time, and returns a channel for the next look:
// after the shortest poll, never if nothing is open.
func (w *Watch) Look(open []Open, report func(Open, ResolutionFile)) <-chan time.Time {
	var poll time.Duration
	for _, o := range open {
		if f, found := Read(w.dir, o.ID); found && w.reported[o.ID] != f.Digest {
			w.reported[o.ID] = f.Digest
			report(o, f)
		}
		if poll == 0 || o.Poll < poll {
			poll = o.Poll
		}
	}
	if poll == 0 {
		return nil
	}
	return time.After(poll)
}
