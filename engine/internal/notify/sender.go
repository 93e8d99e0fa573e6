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

// sender makes the calls of one entry, one after the other.
type sender struct {
	Config
	entry  settings.Notification
	number int
	log    hclog.Logger
	wake   chan struct{} // has a value after a change of the fields below

	mu      sync.Mutex // guards:
	due     []call
	open    []string  // unanswered questions
	running bool      // the session is running: reminders make sense
	until   time.Time // the deadline of all calls; zero before it is closed
}

// call is a moment to report.
type call struct {
	Moment
	n  int // number of the report, from 1
	at time.Time
}

// observe adds new moments and removes the questions that were answered in the meantime.
func (t *sender) observe(moments []Moment, open []string, running bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open, t.running = open, running
	t.due = slices.DeleteFunc(t.due, func(c call) bool {
		return c.Point == sdk.SessionWaiting && (!slices.Contains(open, c.Question) || c.n > 1 && !running || isAskedAgain(moments, c.Question))
	})
	for _, m := range moments {
		if selects(t.entry, m) {
			m.Next = failure.Render(m.Next, t.Program)
			t.due = append(t.due, call{m, 1, time.Now()})
		}
	}
	t.changed()
}

// isAskedAgain reports whether one of the moments asks a question again.
func isAskedAgain(moments []Moment, question string) bool {
	return slices.ContainsFunc(moments, func(m Moment) bool { return m.Point == sdk.SessionWaiting && m.Question == question })
}

// close lets work end when only reminders are left.
func (t *sender) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(t.entry.Timeout)
	t.due = slices.DeleteFunc(t.due, func(c call) bool { return c.n > 1 })
	t.changed()
}

func (t *sender) changed() {
	select {
	case t.wake <- struct{}{}:
	default: // work will look anyway
	}
}

// work makes the calls that are due, until the sender is closed and none is left.
func (t *sender) work() {
	for {
		c, wait, found := t.next()
		switch {
		case found && wait <= 0:
			t.send(c)
		case found:
			select {
			case <-t.wake:
			case <-time.After(wait):
			}
		case t.ended():
			return
		default:
			<-t.wake
		}
	}
}

func (t *sender) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.until.IsZero() && len(t.due) == 0
}

// next removes the first call that is due, or returns the time until then; found is false if there is none.
func (t *sender) next() (c call, wait time.Duration, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.due) == 0 {
		return call{}, 0, false
	}
	first := 0
	for i := range t.due {
		if t.due[i].at.Before(t.due[first].at) {
			first = i
		}
	}
	c = t.due[first]
	if wait = time.Until(c.at); wait <= 0 {
		t.due = slices.Delete(t.due, first, first+1)
	}
	return c, wait, true
}

// send makes a call. An error is logged and reported, and changes nothing.
func (t *sender) send(c call) {
	began := time.Now()
	err := t.run(c)
	d := event.NotifiedData{
		Entry: t.number, Action: t.entry.Action, Point: string(c.Point), Question: c.Question, Times: c.n,
		DurationMS: time.Since(began).Milliseconds(),
	}
	if err != nil {
		d.Error = event.Truncate(failure.From(err).Message, event.MaxText)
		t.log.Warn("notification failed", "session", c.Session, "point", string(c.Point), "error", err)
	}
	t.Report(event.New(event.Notified, nil, "", d))
	t.remind(c)
}

// run calls the action. Its answer has no effect.
func (t *sender) run(c call) error {
	limit := t.limit()
	if limit <= 0 {
		return failure.New(failure.HookTimeout, "the session has ended, and no time was left")
	}
	ctx, cancel := pluginhost.WithCallTimeout(context.Background(), limit+hook.GracePeriod, failure.New(failure.HookTimeout, "no answer within %s", limit+hook.GracePeriod))
	defer cancel()
	action, err := t.Action(ctx, t.entry)
	if err == nil {
		_, err = action.Run(ctx, sdk.HookRequest{
			Key:   fmt.Sprintf("notify:%s/e%d/%d#%d", c.RunID, c.Seq, t.number, c.n),
			Point: c.Point, Session: c.Session, Node: c.Node, Stage: c.Stage, Status: string(c.Status),
			Message: c.Line(c.n > 1), Config: t.entry.Config, Timeout: limit, WorkDir: t.WorkDir,
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

// remind schedules another report of a question that is still open.
func (t *sender) remind(c call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entry.Repeat <= 0 || c.Point != sdk.SessionWaiting || !slices.Contains(t.open, c.Question) || !t.running || !t.until.IsZero() {
		return
	}
	for _, other := range t.due { // it was asked again in the meantime
		if other.Point == sdk.SessionWaiting && other.Question == c.Question {
			return
		}
	}
	c.n, c.at = c.n+1, time.Now().Add(t.entry.Repeat)
	t.due = append(t.due, c)
}

// selects reports whether an entry asks for a moment. The pause for a question adds nothing for an entry that asks for
// questions.
func selects(entry settings.Notification, m Moment) bool {
	if m.Point == sdk.SessionPaused && m.Question != "" && slices.Contains(entry.On, sdk.SessionWaiting) {
		return false
	}
	return slices.Contains(entry.On, m.Point)
}
