package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/notify"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a session in a synctest bubble, and a hook action that records its requests.
type stage struct {
	t        *testing.T
	notifier *notify.Notifier
	began    time.Time
	run      func(ctx context.Context, req sdk.HookRequest) error // the effect of the action, nil for none
	missing  error                                                // the error of a missing action
	seq      int64
	st       state.State

	mu    sync.Mutex // guards:
	sent  []string   // seconds since the beginning, and the message
	last  sdk.HookRequest
	ended []event.NotifiedData
	busy  int // calls in progress
	most  int
}

func (s *stage) Describe() sdk.Component { return sdk.Component{Name: "stage"} }

func (s *stage) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	s.mu.Lock()
	s.sent = append(s.sent, fmt.Sprintf("%.0f %s", time.Since(s.began).Seconds(), strings.TrimPrefix(req.Message, "session 'auth' ")))
	s.last, s.busy = req, s.busy+1
	s.most = max(s.most, s.busy)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.busy--; s.mu.Unlock() }()
	if s.run == nil {
		return sdk.HookAnswer{Action: sdk.ActionAbort}, nil // the answer has no effect
	}
	return sdk.HookAnswer{}, s.run(ctx, req)
}

func (s *stage) report(e event.Event) {
	d, err := event.Decode[event.NotifiedData](e)
	if err != nil || e.Type != event.Notified {
		s.t.Errorf("reported %+v, %v", e, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, d)
}

// watch starts a notifier for the session.
func (s *stage) watch(t *testing.T, entries ...settings.Notification) {
	s.t, s.began = t, time.Now()
	s.st = state.State{Identity: state.Identity{Session: "auth", RunID: "PL-1"}, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{At: "0"}, OpenQuestions: state.OpenQuestions{Questions: map[string]state.Question{}}}
	s.notifier = notify.New(notify.Config{
		Entries: entries, WorkDir: "/work", Program: "agent-pipelines", Log: hclog.NewNullLogger(), Report: s.report,
		Action: func(context.Context, settings.Notification) (sdk.HookAction, error) { return s, s.missing },
	})
}

func (s *stage) event(kind event.Type, data any) {
	s.seq++
	e := event.New(kind, nil, "", data)
	e.Seq = s.seq
	st := s.st.Clone()
	s.notifier.Observe(two, e, st)
}

func (s *stage) asks(id string) {
	s.st.Questions[id] = question("0", id+"?")
	s.event(event.QuestionAsked, event.QuestionAskedData{ID: id})
}

func (s *stage) answered(id string) {
	s.st.Questions[id] = answered(s.st.Questions[id])
	s.event(event.QuestionAnswered, event.QuestionAnsweredData{ID: id})
}

func (s *stage) pauses(question string) {
	s.st.Status, s.st.PauseKind = state.Paused, state.PauseApproval
	s.event(event.SessionPaused, event.SessionPausedData{Kind: "approval", Question: question})
}

func (s *stage) completes() {
	s.st.Status = state.Completed
	s.event(event.SessionComplete, event.SessionCompleteData{})
}

func (s *stage) close() {
	if err := s.notifier.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *stage) expect(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	testkit.Equal(s.t, want, s.sent)
	if s.most > 1 || s.busy != 0 {
		s.t.Errorf("%d calls at once, %d under way", s.most, s.busy)
	}
}

// hanging never answers and ends at the request's time limit.
func hanging(ctx context.Context, req sdk.HookRequest) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(req.Timeout):
		return failure.New(failure.HookTimeout, "it took longer than %s", req.Timeout)
	}
}

// stuck never answers and ends only when its context is canceled.
func stuck(ctx context.Context, _ sdk.HookRequest) error {
	<-ctx.Done()
	return ctx.Err()
}

// A question is reported each time it is asked.
func TestRepeatedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stage
		s.watch(t, settings.Notification{})
		s.asks("a")
		time.Sleep(time.Hour)
		s.asks("a")
		synctest.Wait()
		s.close()
		s.expect("0 waits for you: a? (agent-pipelines approve auth)", "3600 waits for you: a? (agent-pipelines approve auth)")
	})
}

// If a session pauses for a question, each entry reports this once: as waiting if the entry asks for questions, else
// as paused.
func TestPausedForAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stage
		s.watch(t, settings.Notification{}, settings.Notification{On: []sdk.HookPoint{sdk.SessionPaused}})
		s.asks("a")
		synctest.Wait()
		s.pauses("a")
		time.Sleep(time.Hour)
		s.close()
		s.expect("0 waits for you: a? (agent-pipelines approve auth)", "0 is paused (approval) (agent-pipelines resume auth)")
		if s.last.Status != "paused" || s.last.Point != sdk.SessionPaused || s.last.Node != "draft" {
			t.Errorf("sent %+v", s.last)
		}
	})
}

// A request has all that the action needs, with its own key for each report.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stage
		s.watch(t, settings.Notification{On: []sdk.HookPoint{sdk.SessionFailed}}, settings.Notification{
			On: []sdk.HookPoint{sdk.SessionWaiting}, Action: "stage", Timeout: 5 * time.Second, Config: json.RawMessage(`{"url":"x"}`),
		})
		s.seq = 41
		s.event(event.IterationComplete, nil)
		s.asks("a")
		s.close()
		want := sdk.HookRequest{
			Key: "notify:PL-1/e43/2#1", Point: sdk.SessionWaiting, Session: "auth", Node: "draft", Stage: "writer", Status: "running",
			Message: "session 'auth' waits for you: a? (agent-pipelines approve auth)", Timeout: 5 * time.Second, WorkDir: "/work",
			Config: json.RawMessage(`{"url":"x"}`),
		}
		testkit.Equal(t, want, s.last)
		testkit.Equal(t, event.NotifiedData{Entry: 2, Action: "stage", Point: "waiting", Question: "a", Times: 1}, s.ended[len(s.ended)-1])
	})
}

// A call that hangs ends at its limit and does not delay the run. A question answered by then is not reported.
func TestHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage{run: hanging}
		s.watch(t, settings.Notification{})
		before := time.Now()
		s.asks("a")
		synctest.Wait()
		s.asks("b")
		s.asks("c")
		s.answered("b")
		if took := time.Since(before); took != 0 {
			t.Errorf("the run waited %s", took)
		}
		time.Sleep(30 * time.Second)
		s.close()
		s.expect("0 waits for you: a? (agent-pipelines approve auth)", "10 waits for you: c? (agent-pipelines approve auth c)")
		if len(s.ended) != 2 || s.ended[0].Error != "it took longer than 10s" || s.ended[0].DurationMS != 10_000 {
			t.Errorf("reported %+v", s.ended)
		}
	})
}

// Errors are reported, and the next call is made.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stage{run: func(context.Context, sdk.HookRequest) error {
			return failure.New(failure.HookFailed, "connection refused")
		}}
		s.watch(t, settings.Notification{})
		s.asks("a")
		synctest.Wait()
		s.asks("b")
		s.close()
		s.expect("0 waits for you: a? (agent-pipelines approve auth)", "0 waits for you: b? (agent-pipelines approve auth b)")
		if len(s.ended) != 2 || s.ended[1].Error != "connection refused" {
			t.Errorf("reported %+v", s.ended)
		}
		s = stage{missing: errors.New("the plugin is gone")}
		s.watch(t, settings.Notification{})
		s.asks("a")
		s.close()
		s.expect()
		if len(s.ended) != 1 || s.ended[0].Error != "the plugin is gone" {
			t.Errorf("reported %+v", s.ended)
		}
	})
}

// Close sends the remaining moments within the time limit of one call and waits for calls in progress. A call that
// ignores the limit, but not its context, ends after the grace period.
func TestClose(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(ctx context.Context, req sdk.HookRequest) error
		took time.Duration
		want []string
	}{
		{"quick", nil, 0, []string{"0 waits for you: a? (agent-pipelines approve auth)", "0 completed"}},
		{
			"slow", func(context.Context, sdk.HookRequest) error { time.Sleep(4 * time.Second); return nil }, 8 * time.Second,
			[]string{"0 waits for you: a? (agent-pipelines approve auth)", "4 completed"},
		},
		{
			"too slow for both", func(context.Context, sdk.HookRequest) error { time.Sleep(7 * time.Second); return nil }, 14 * time.Second,
			[]string{"0 waits for you: a? (agent-pipelines approve auth)", "7 completed"},
		},
		{"hanging", hanging, 10 * time.Second, []string{"0 waits for you: a? (agent-pipelines approve auth)"}},
		{"stuck", stuck, 10*time.Second + hook.GracePeriod, []string{"0 waits for you: a? (agent-pipelines approve auth)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := stage{run: tt.run}
				s.watch(t, settings.Notification{On: []sdk.HookPoint{sdk.SessionWaiting, sdk.SessionCompleted}})
				s.asks("a")
				synctest.Wait()
				s.completes()
				before := time.Now()
				s.close()
				testkit.Equal(t, tt.took, time.Since(before))
				s.expect(tt.want...)
				if n := len(s.ended); n != 2 || (s.ended[1].Error != "") != (len(tt.want) < 2) {
					t.Errorf("reported %+v", s.ended)
				}
			})
		})
	}
}

// Without entries, and without a notifier, nothing happens.
func TestWithoutNotifier(t *testing.T) {
	var none *notify.Notifier
	none.Observe(two, event.New(event.SessionComplete, nil, "", nil), state.State{})
	var s stage
	s.watch(t)
	s.completes()
	s.close()
	s.expect()
}
