package notify

import (
	"cmp"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Notifier reports on one session. Each entry of the settings has one call at a time; a call that hangs delays no other
// entry. A Notifier is safe for concurrent use. The caller closes it.
type Notifier struct {
	senders []*sender
	work    sync.WaitGroup
}

// New starts a notifier.
func New(c Config) *Notifier {
	n := &Notifier{}
	for i, entry := range c.Entries {
		entry.Timeout = cmp.Or(entry.Timeout, DefaultTimeout)
		if len(entry.On) == 0 {
			entry.On = defaultPoints
		}
		t := &sender{
			Config: c, entry: entry, number: i + 1,
			log: c.Log.With("notify", i+1, "action", entry.Action),
		}
		t.changed = sync.NewCond(&t.mu)
		n.senders = append(n.senders, t)
		n.work.Go(t.work)
	}
	return n
}

// Observe receives an applied event and the state after it. It returns at once. A nil notifier does nothing.
func (n *Notifier) Observe(p *plan.Plan, e event.Event, st state.State) {
	if n == nil || len(n.senders) == 0 {
		return
	}
	moments, open := Moments(p, e, st), st.UnansweredQuestions()
	for _, t := range n.senders {
		t.observe(moments, open)
	}
}

// Close lets each entry send its remaining moments within the time limit of one call, and returns when the last call
// has ended.
func (n *Notifier) Close() error {
	for _, t := range n.senders {
		t.close()
	}
	n.work.Wait()
	return nil
}
