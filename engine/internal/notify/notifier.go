package notify

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// DefaultTimeout is the time limit of a call without a timeout.
const DefaultTimeout = 10 * time.Second

// defaultPoints are the points of an entry without on: all except success.
var defaultPoints = []sdk.HookPoint{sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted}

// Config has the entries of a notifier and its connections. All fields are required.
type Config struct {
	// Entries are those of the settings, in order; they are numbered from 1.
	Entries []settings.Notification
	// Action finds the hook action of an entry.
	Action  func(ctx context.Context, n settings.Notification) (sdk.HookAction, error)
	WorkDir string
	Program string // in command lines; may be empty
	Log     hclog.Logger
	// Report is called with the notified event of each call that has ended, by several goroutines.
	Report func(event.Event)
}

// Notifier reports on one session. Each entry has one call at a time; a call that hangs delays no other entry. It is
// safe for concurrent use. The caller closes it.
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
			Config: c, entry: entry, number: i + 1, wake: make(chan struct{}, 1),
			log: c.Log.With("notify", i+1, "action", entry.Action),
		}
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
		t.observe(moments, open, st.Status == state.Running)
	}
}

// Close lets each entry send its remaining moments within the time limit of one call, and returns when the last call
// has ended. It sends no reminders.
func (n *Notifier) Close() error {
	for _, t := range n.senders {
		t.close()
	}
	n.work.Wait()
	return nil
}

// selects reports whether an entry asks for a moment. The pause for a question adds nothing for an entry that asks for
// questions.
func selects(entry settings.Notification, m Moment) bool {
	if m.Point == sdk.SessionPaused && m.Question != "" && slices.Contains(entry.On, sdk.SessionWaiting) {
		return false
	}
	return slices.Contains(entry.On, m.Point)
}
