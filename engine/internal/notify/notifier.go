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

// DefaultTimeout is how long a call may take for which no timeout is set.
const DefaultTimeout = 10 * time.Second

// defaultPoints are what an entry without on is told: all but that everything went well.
var defaultPoints = []sdk.HookPoint{sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted}

// Config is what a notifier works with. All fields are needed.
type Config struct {
	// Entries are those of the settings, in order; they are numbered from 1.
	Entries []settings.Notification
	// Action finds the hook action of an entry.
	Action  func(ctx context.Context, n settings.Notification) (sdk.HookAction, error)
	WorkDir string
	Log     hclog.Logger
	// Report is called with the notified event of each call that has ended, by several goroutines.
	Report func(event.Event)
}

// Notifier tells of one session. Each entry has one call at a time; a call that hangs delays no other entry. It is safe
// for concurrent use. The caller closes it.
type Notifier struct {
	tellers []*teller
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
		t := &teller{
			Config: c, entry: entry, number: i + 1, wake: make(chan struct{}, 1),
			log: c.Log.With("notify", i+1, "action", entry.Action),
		}
		n.tellers = append(n.tellers, t)
		n.work.Go(t.work)
	}
	return n
}

// Observe takes note of an event that was applied, and of the state after it. It returns at once. A nil notifier
// tells nobody.
func (n *Notifier) Observe(p *plan.Plan, e event.Event, st state.State) {
	if n == nil || len(n.tellers) == 0 {
		return
	}
	moments, open := Moments(p, e, st), unanswered(st)
	for _, t := range n.tellers {
		t.observe(moments, open, st.Status == state.Running)
	}
}

// Close lets each entry tell what it still has to tell, for as long as one of its calls may take, and returns when
// nothing is under way any more. Nobody is reminded after it.
func (n *Notifier) Close() error {
	for _, t := range n.tellers {
		t.close()
	}
	n.work.Wait()
	return nil
}

// hears reports whether an entry is told a moment. The pause for a question says nothing new to one that is told of
// questions.
func hears(entry settings.Notification, m Moment) bool {
	if m.Point == sdk.SessionPaused && m.Question != "" && slices.Contains(entry.On, sdk.SessionWaiting) {
		return false
	}
	return slices.Contains(entry.On, m.Point)
}
