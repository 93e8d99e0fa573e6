package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// control collects the control events of a run: those of this process, of the inbox and of resolution files.
type control struct {
	session *session
	open    atomic.Pointer[[]question.Open] // the open escalations
	unread  []event.Event                   // events that the run did not receive
}

// publish sets the open escalations.
func (c *control) publish(st state.State) {
	open := question.Unanswered(c.session.setup.plan, st)
	c.open.Store(&open)
}

// start merges control events of this process, of the inbox and of resolution files into one channel. It calls onFenced
// when another kernel has fenced the session, because an attempt that waits for its agent writes nothing and would not
// notice. The returned function stops the session's single watcher goroutine and waits for it.
func (c *control) start(local <-chan event.Event, onFenced func(error)) (<-chan event.Event, func()) {
	c.publish(c.session.state)
	ctx, cancel := context.WithCancel(context.Background())
	merged := make(chan event.Event)
	var wg sync.WaitGroup
	wg.Go(func() { c.loop(ctx, local, merged, onFenced) })
	return merged, func() { cancel(); wg.Wait() }
}

// loop is the goroutine of start.
func (c *control) loop(ctx context.Context, local <-chan event.Event, merged chan<- event.Event, onFenced func(error)) {
	forward := func(e event.Event) (ok bool) {
		select {
		case merged <- e:
			return true
		case <-ctx.Done():
			return false
		}
	}
	const fencePoll = time.Second // see awaitFencedOwner
	pollInbox, pollResolutions := c.watchInbox(forward), c.watchResolutions(forward)
	poll, fence := time.NewTicker(inbox.Interval), time.NewTicker(fencePoll)
	defer poll.Stop()
	defer fence.Stop()
	pollInbox()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-local:
			if !forward(e) {
				c.unread = append(c.unread, e)
			}
		case <-poll.C:
			pollInbox()
			pollResolutions()
		case <-fence.C:
			if err := c.session.lease.journal.CheckEpoch(ctx); err != nil {
				fence.Stop()
				onFenced(err)
			}
		}
	}
}

// watchInbox returns a function that polls the inbox and forwards new messages.
func (c *control) watchInbox(forward func(event.Event) bool) (poll func()) {
	watch, unreadable := inbox.NewWatch(c.session.handle.dir, inboxRun(c.session.state)), false
	return func() {
		err := watch.Poll(func(m inbox.Message) {
			if m.Action == inbox.Rejected {
				c.session.mailbox.refuseMessage(m, false)
				return
			}
			forward(m.Event())
		})
		if err != nil && !unreadable {
			c.session.handle.log.Error("cannot read the whole inbox; requests from other terminals may have no effect", "error", err)
		}
		unreadable = err != nil
	}
}

// watchResolutions returns a function that polls the resolution files and forwards their answers. An invalid file, and
// any file in a session with a sandbox, is reported once per content; the run keeps waiting.
func (c *control) watchResolutions(forward func(event.Event) bool) (poll func()) {
	files, confined := question.NewWatch(c.session.handle.dir), c.session.state.Confined
	return func() {
		files.Poll(*c.open.Load(), func(o question.Open, f question.ResolutionFile) {
			switch {
			case confined:
				c.session.mailbox.refuseResolution(o, f)
				return
			case len(f.Faults) == 0:
				forward(o.Answer(f.Resolution))
				return
			}
			for i := range f.Faults {
				f.Faults[i].Severity = yamldoc.SeverityWarning
			}
			faults := c.session.handle.env.RedactDiagnostics(f.Faults)
			c.session.handle.log.Debug("invalid resolution; the session keeps waiting", "escalation", o.ID, "faults", faults.Error())
			c.session.feed.send(inspect.Update{Warnings: faults})
		})
	}
}
