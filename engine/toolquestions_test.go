package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// askingAgent asks before its tool calls, concurrently, and keeps the verdicts.
type askingAgent struct {
	agent
	calls []string

	mu       *sync.Mutex // guards verdicts
	verdicts map[string]string
}

func newAskingAgent(calls ...string) askingAgent {
	return askingAgent{calls: calls, mu: &sync.Mutex{}, verdicts: map[string]string{}}
}

func (c askingAgent) Describe() sdk.Component {
	d := c.agent.Describe()
	d.Provider.GatedTools, d.Provider.Resume = true, true
	return d
}

func (c askingAgent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	var all sync.WaitGroup
	for _, id := range c.calls {
		all.Go(func() {
			v, err := x.Call(ctx, sdk.ToolCall{CallID: id, Tool: "write", Args: json.RawMessage(`{"path":"` + id + `"}`), Effect: sdk.EffectIdempotent})
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				c.verdicts[id] = strings.TrimSpace(string(v.Action) + " " + v.Reason)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return sdk.ExecuteResult{}, context.Cause(ctx)
	}
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"done"}`), 0o644)
}

func (c askingAgent) received() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.verdicts)
}

const askingPipeline = `name: two
policy: {approvals: {default: prompt}}
nodes:
  - {id: build, prompt: build, provider: agent}
`

// startRun runs a session in the background. asked receives ids of open questions; end waits for the result.
func startRun(t *testing.T, begin func(observe func(engine.Update)) (*engine.Result, error)) (asked <-chan string, end func() (*engine.Result, error)) {
	t.Helper()
	questions := make(chan string, 100)
	var result *engine.Result
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		result, err = begin(func(u engine.Update) {
			if u.Event != nil && u.Event.Type == event.QuestionAsked {
				d, decodeErr := event.Decode[event.QuestionAskedData](*u.Event)
				if decodeErr != nil {
					t.Error(decodeErr)
				}
				questions <- d.ID
			}
		})
	})
	return questions, func() (*engine.Result, error) { wg.Wait(); return result, err }
}

// U175: an attempt asks about several calls. A second engine lists the questions, both engines answer them, and the
// agent gets the answers.
func TestToolCallQuestions(t *testing.T) {
	root := project(t, askingPipeline)
	agent := newAskingAgent("a", "b", "c")
	e, elsewhere := newEngine(t, root, agent), newEngine(t, root, newAskingAgent())
	asked, end := startRun(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: observe})
	})
	ids := []string{<-asked, <-asked, <-asked}
	slices.Sort(ids)
	open, err := elsewhere.Questions("demo")
	if err != nil || len(open) != 3 || len(slices.Compact(ids)) != 3 {
		t.Fatalf("open %+v, %v", open, err)
	}
	byPath := map[string]engine.Question{}
	for _, q := range open {
		var args struct{ Path string }
		testkit.OK(t, json.Unmarshal([]byte(q.Preview), &args))
		byPath[args.Path] = q
		if q.Kind != "tool" || q.Stage != "build" || q.Text != "the agent wants to run write" || !slices.Equal(q.Options, []string{"approve", "reject", "skip"}) {
			t.Errorf("question %+v", q)
		}
	}
	wantError(t, e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: "approve"}), engine.ErrOptions)
	for _, err := range []error{
		e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: byPath["a"].ID, Answer: "approve", By: "ann"}),
		elsewhere.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: byPath["b"].ID, Answer: "reject", Text: "not that one", Digest: byPath["b"].Digest}),
		e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: byPath["c"].ID, Answer: "reject"}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	result, err := end()
	if err != nil || !result.Success || len(result.Questions) != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	want := map[string]string{"a": "run", "b": "deny not that one", "c": "deny the user denied it"}
	testkit.Equal(t, want, agent.received())
	verdicts := map[string]string{}
	err = e.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error {
		if ev.Type == event.ToolCall {
			d, err := event.Decode[event.ToolCallData](ev)
			verdicts[d.CallID] = d.Verdict + " " + d.Question
			return err
		}
		return nil
	})
	want = map[string]string{"a": "run " + byPath["a"].ID, "b": "deny " + byPath["b"].ID, "c": "deny " + byPath["c"].ID}
	if diff := cmp.Diff(want, verdicts); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// U177: questions and approvals survive the end of their kernel. The next kernel repeats only unanswered questions,
// with the same id.
func TestToolQuestionAfterForcedResume(t *testing.T) {
	root := project(t, askingPipeline)
	agent := newAskingAgent("a", "b")
	older, newer := newEngine(t, root, newAskingAgent("a", "b")), newEngine(t, root, agent)
	asked, ended := startRun(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return older.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: observe})
	})
	first := map[string]bool{<-asked: true, <-asked: true}
	open, err := older.Questions("demo")
	if err != nil || len(open) != 2 {
		t.Fatalf("open %+v, %v", open, err)
	}
	approved, left := open[0], open[1]
	testkit.OK(t, older.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: approved.ID, Answer: "approve"}))
	awaitEvent(t, older, event.ToolCall)
	again, end := startRun(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return newer.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Force: true, Wait: true, Observe: observe})
	})
	if id := <-again; id != left.ID || !first[id] {
		t.Errorf("asked %s again, want %s", id, left.ID)
	}
	if open, err := newer.Questions("demo"); err != nil || len(open) != 1 || open[0].Digest != left.Digest {
		t.Errorf("open %+v, %v", open, err)
	}
	testkit.OK(t, newer.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: left.ID, Answer: "reject"}))
	result, err := end()
	if err != nil || !result.Success || len(again) != 0 {
		t.Fatalf("%+v, %v, %d more questions", result, err, len(again))
	}
	verdicts := slices.Sorted(maps.Values(agent.received()))
	testkit.Equal(t, []string{"deny the user denied it", "run"}, verdicts)
	if _, err := ended(); err == nil {
		t.Error("the older kernel continued")
	}
}

// awaitEvent waits until the session's journal has an event of the type.
func awaitEvent(t *testing.T, e *engine.Engine, want event.Type) {
	t.Helper()
	found := errors.New("found")
	if err := e.Tail(t.Context(), "demo", -1, true, func(ev event.Event) error {
		if ev.Type == want {
			return found
		}
		return nil
	}); !errors.Is(err, found) {
		t.Fatal(err)
	}
}

// DIALECT B8: non_interactive: fail ends the session, which can then be resumed interactively.
func TestNonInteractiveApproval(t *testing.T) {
	agent := newAskingAgent("a")
	e := newEngine(t, project(t, strings.Replace(askingPipeline, "default: prompt", "non_interactive: fail", 1)), agent)
	result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if err != nil || result.Status != state.Failed || result.Failure.ErrorType != "approval_required" || result.Failure.Attempt != 1 || len(agent.received()) != 0 {
		t.Fatalf("%+v, failure %+v, %v", result, result.Failure, err)
	}
	asked, end := startRun(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Wait: true, Observe: observe})
	})
	testkit.OK(t, e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: <-asked, Answer: "approve"}))
	if result, err = end(); err != nil || !result.Success {
		t.Errorf("%+v, %v", result, err)
	}
}

// on_timeout: escalate turns an unanswered tool question into an escalation without a deadline. After its approval
// the next attempt asks again.
func TestUnansweredToolQuestionEscalates(t *testing.T) {
	agent := newAskingAgent("a")
	e := newEngine(t, project(t, strings.Replace(askingPipeline, "default: prompt", "timeout: 0.01, on_timeout: escalate", 1)), agent)
	ctx, cancel := context.WithCancelCause(t.Context())
	asked, end := startRun(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: observe})
	})
	tool, escalated := <-asked, <-asked
	open, err := e.Questions("demo")
	if err != nil || len(open) != 1 || open[0].ID != escalated || open[0].Kind != "escalation" || open[0].Due != nil {
		t.Fatalf("open %+v, %v", open, err)
	}
	testkit.OK(t, e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: "approve"}))
	testkit.Equal(t, tool, <-asked)
	<-asked // times out again
	cancel(errors.New("enough"))
	if result, err := end(); err != nil || result.Status != state.Paused || len(agent.received()) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
