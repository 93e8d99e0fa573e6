package notify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

// DefaultTimeout is the time limit of a call whose entry has no timeout.
const DefaultTimeout = 10 * time.Second

// defaultPoints are the points of an entry without the key on: all except the completion of the session.
var defaultPoints = []sdk.HookPoint{sdk.SessionWaiting, sdk.SessionPaused, sdk.SessionFailed, sdk.SessionAborted}

// Config has the entries of a notifier and its dependencies. All fields except Program are required.
type Config struct {
	// Entries are the notify entries of the settings, in order; they are numbered from 1.
	Entries []settings.Notification
	// Action finds the hook action of an entry.
	Action  func(ctx context.Context, n settings.Notification) (sdk.HookAction, error)
	WorkDir string
	Program string // name of this program in command lines; may be empty
	Log     hclog.Logger
	// Report is called with the notified event of each call that has ended, by several goroutines.
	Report func(event.Event)
}

// sender makes the calls of one entry, one after the other.
type sender struct {
	Config
	entry  settings.Notification
	number int
	log    hclog.Logger

	mu      sync.Mutex // guards:
	changed *sync.Cond // wakes work after a change of the fields below
	due     []Moment
	until   time.Time // the deadline of the remaining calls; zero before the sender is closed
}

// observe adds new moments and removes the questions that were answered in the meantime.
func (t *sender) observe(moments []Moment, open []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due = slices.DeleteFunc(t.due, func(m Moment) bool {
		return m.Point == sdk.SessionWaiting && !slices.Contains(open, m.Question)
	})
	for _, m := range moments {
		if selects(t.entry, m) {
			m.Next = failure.Render(m.Next, t.Program)
			t.due = append(t.due, m)
		}
	}
	t.changed.Signal()
}

// close lets work end when all moments are reported or the time limit has passed.
func (t *sender) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(t.entry.Timeout)
	t.changed.Signal()
}

// work makes the calls that are due, until the sender is closed and no moment is left.
func (t *sender) work() {
	for m, found := t.next(); found; m, found = t.next() {
		t.send(m)
	}
}

// next removes and returns the first moment that is due; found is false after the last moment of a closed sender.
func (t *sender) next() (m Moment, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.due) == 0 && t.until.IsZero() {
		t.changed.Wait()
	}
	if len(t.due) == 0 {
		return Moment{}, false
	}
	m, t.due = t.due[0], t.due[1:]
	return m, true
}

// send makes the call for a moment. An error is logged and reported, and has no other effect.
func (t *sender) send(m Moment) {
	began := time.Now()
	err := t.run(m)
	d := event.NotifiedData{
		Entry: t.number, Action: t.entry.Action, Point: string(m.Point), Question: m.Question, Times: 1,
		DurationMS: time.Since(began).Milliseconds(),
	}
	if err != nil {
		d.Error = event.Truncate(failure.From(err).Message, event.MaxText)
		t.log.Warn("notification failed", "session", m.Session, "point", string(m.Point), "error", err)
	}
	t.Report(event.New(event.Notified, nil, "", d))
}

// run calls the action. The action's answer has no effect.
func (t *sender) run(m Moment) error {
	limit := t.limit()
	if limit <= 0 {
		return failure.New(failure.HookTimeout, "the session has ended, and no time was left")
	}
	ctx, cancel := pluginhost.WithCallTimeout(context.Background(), limit+hook.GracePeriod, failure.New(failure.HookTimeout, "no answer within %s", limit+hook.GracePeriod))
	defer cancel()
	action, err := t.Action(ctx, t.entry)
	if err == nil {
		_, err = action.Run(ctx, sdk.HookRequest{
			Key:   fmt.Sprintf("notify:%s/e%d/%d#1", m.RunID, m.Seq, t.number),
			Point: m.Point, Session: m.Session, Node: m.Node, Stage: m.Stage, Status: string(m.Status),
			Message: m.Line(), Config: t.entry.Config, Timeout: limit, WorkDir: t.WorkDir,
		})
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// limit returns the time limit of a call that begins now.
func (t *sender) limit() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until.IsZero() {
		return t.entry.Timeout
	}
	return time.Until(t.until)
}

// selects reports whether an entry asks for a moment. An entry that asks for questions does not get the pause for a
// question as well.
func selects(entry settings.Notification, m Moment) bool {
	if m.Point == sdk.SessionPaused && m.Question != "" && slices.Contains(entry.On, sdk.SessionWaiting) {
		return false
	}
	return slices.Contains(entry.On, m.Point)
}
