package question

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Open is an escalation that waits for an answer.
type Open struct {
	ID       string
	Question string        // id of the question that it is
	Digest   string        // of what was shown
	Poll     time.Duration // how often to look, more than 0
}

// Watch looks for the resolutions of open escalations. Only one goroutine may use it.
type Watch struct {
	dir  *store.Dir
	told map[string]string // the print of what was found last, by escalation
}

// NewWatch returns the watch of a session's resolutions that has not found any yet.
func NewWatch(d *store.Dir) *Watch { return &Watch{dir: d, told: map[string]string{}} }

// Look calls found, one call at a time, for each content of a file that it has not told of, and returns when to look again:
// after the shortest poll, never if nothing is open.
func (w *Watch) Look(open []Open, found func(Open, Found)) <-chan time.Time {
	var poll time.Duration
	for _, o := range open {
		if f, there := Read(w.dir, o.ID); there && w.told[o.ID] != f.Print {
			w.told[o.ID] = f.Print
			found(o, f)
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
