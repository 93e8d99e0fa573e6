package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// careful is an agent that asks before its calls, all at once, and keeps what it is told.
type careful struct {
	agent
	calls []string

	mu   *sync.Mutex // guards:
	told map[string]string
}

func carefully(calls ...string) careful {
	return careful{calls: calls, mu: &sync.Mutex{}, told: map[string]string{}}
}

func (c careful) Describe() sdk.Component {
	d := c.agent.Describe()
	d.Provider.GatedTools, d.Provider.Resume = true, true
	return d
}

func (c careful) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	var all sync.WaitGroup
	for _, id := range c.calls {
		all.Go(func() {
			v, err := x.Call(ctx, sdk.ToolCall{CallID: id, Tool: "write", Args: json.RawMessage(`{"path":"` + id + `"}`), Effect: sdk.EffectIdempotent})
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				c.told[id] = strings.TrimSpace(string(v.Action) + " " + v.Reason)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return sdk.ExecuteResult{}, context.Cause(ctx)
	}
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"done"}`), 0o644)
}

func (c careful) heard() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := map[string]string{}
	for id, text := range c.told {
		told[id] = text
	}
	return told
}

const carefulStage = `name: two
policy: {approvals: {default: prompt}}
nodes:
  - {id: build, prompt: build, provider: agent}
`

// carefulEngine works on a project with an agent that asks.
func carefulEngine(t *testing.T, root string, c careful) *engine.Engine {
	t.Helper()
	e, err := engine.NewEngine(engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithEnvironment(nil), engine.WithProvider(c), engine.WithVersion("test"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// runs is a session that somebody waits for. Asked tells when a question is open, end waits for the run.
func runs(t *testing.T, begin func(observe func(engine.Update)) (*engine.Result, error)) (asked <-chan string, end func() (*engine.Result, error)) {
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

// DESIGN 5, U175: an attempt asks about several calls; they are listed, answered from here and from another process,
// and the agent hears of it.
func TestToolCallsAreAskedAbout(t *testing.T) {
	root := project(t, carefulStage)
	agent := carefully("a", "b", "c")
	e, elsewhere := carefulEngine(t, root, agent), carefulEngine(t, root, carefully())
	asked, end := runs(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: observe})
	})
	ids := []string{<-asked, <-asked, <-asked}
	slices.Sort(ids)
	open, err := elsewhere.Questions("demo")
	if err != nil || len(open) != 3 || len(slices.Compact(ids)) != 3 {
		t.Fatalf("open %+v, %v", open, err)
	}
	of := map[string]engine.Question{}
	for _, q := range open {
		var args struct{ Path string }
		if err := json.Unmarshal([]byte(q.Preview), &args); err != nil {
			t.Fatal(err)
		}
		of[args.Path] = q
		if q.Kind != "tool" || q.Stage != "build" || q.Text != "the agent wants to run write" || !slices.Equal(q.Options, []string{"approve", "reject", "skip"}) {
			t.Errorf("question %+v", q)
		}
	}
	if err := e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: "approve"}); !errors.Is(err, engine.ErrOptions) {
		t.Errorf("an answer to any of three: %v", err)
	}
	for _, err := range []error{
		e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: of["a"].ID, Answer: "approve", By: "ann"}),
		elsewhere.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: of["b"].ID, Answer: "reject", Text: "not that one", Digest: of["b"].Digest}),
		e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: of["c"].ID, Answer: "reject"}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	result, err := end()
	if err != nil || !result.Success || len(result.Questions) != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	want := map[string]string{"a": "run", "b": "deny not that one", "c": "deny a person refused it"}
	if diff := cmp.Diff(want, agent.heard()); diff != "" {
		t.Error(diff)
	}
	verdicts := map[string]string{}
	err = e.Tail(t.Context(), "demo", -1, false, func(ev event.Event) error {
		if ev.Type == event.ToolCall {
			d, err := event.Decode[event.ToolCallData](ev)
			verdicts[d.CallID] = d.Verdict + " " + d.Question
			return err
		}
		return nil
	})
	want = map[string]string{"a": "run " + of["a"].ID, "b": "deny " + of["b"].ID, "c": "deny " + of["c"].ID}
	if diff := cmp.Diff(want, verdicts); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// U177: a kernel that is gone leaves its question open, and what was approved. The one after it asks again only about
// what nobody had answered, under the same id.
func TestToolQuestionAfterATakeover(t *testing.T) {
	root := project(t, carefulStage)
	agent := carefully("a", "b")
	older, newer := carefulEngine(t, root, carefully("a", "b")), carefulEngine(t, root, agent)
	asked, ended := runs(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return older.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: observe})
	})
	first := map[string]bool{<-asked: true, <-asked: true}
	open, err := older.Questions("demo")
	if err != nil || len(open) != 2 {
		t.Fatalf("open %+v, %v", open, err)
	}
	approved, left := open[0], open[1]
	if err := older.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: approved.ID, Answer: "approve"}); err != nil {
		t.Fatal(err)
	}
	journaled(t, older, event.ToolCall)
	again, end := runs(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return newer.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Force: true, Wait: true, Observe: observe})
	})
	if id := <-again; id != left.ID || !first[id] {
		t.Errorf("asked %s again, want %s", id, left.ID)
	}
	if open, err := newer.Questions("demo"); err != nil || len(open) != 1 || open[0].Digest != left.Digest {
		t.Errorf("open %+v, %v", open, err)
	}
	if err := newer.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: left.ID, Answer: "reject"}); err != nil {
		t.Fatal(err)
	}
	result, err := end()
	if err != nil || !result.Success || len(again) != 0 {
		t.Fatalf("%+v, %v, %d more questions", result, err, len(again))
	}
	told := slices.Sorted(func(yield func(string) bool) {
		for _, text := range agent.heard() {
			if !yield(text) {
				return
			}
		}
	})
	if diff := cmp.Diff([]string{"deny a person refused it", "run"}, told); diff != "" {
		t.Error(diff)
	}
	if _, err := ended(); err == nil {
		t.Error("the older kernel went on")
	}
}

// journaled waits until an event of the type is in the session's journal.
func journaled(t *testing.T, e *engine.Engine, want event.Type) {
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

// DIALECT B8: non_interactive: fail ends the session, which a person can then resume.
func TestNobodyIsThereToBeAsked(t *testing.T) {
	agent := carefully("a")
	e := carefulEngine(t, project(t, strings.Replace(carefulStage, "default: prompt", "non_interactive: fail", 1)), agent)
	result, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})
	if err != nil || result.Status != state.Failed || result.Failure.ErrorType != "approval_required" || result.Failure.Attempt != 1 || len(agent.heard()) != 0 {
		t.Fatalf("%+v, failure %+v, %v", result, result.Failure, err)
	}
	asked, end := runs(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return e.Resume(t.Context(), engine.ResumeOptions{Session: "demo", Wait: true, Observe: observe})
	})
	if err := e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Question: <-asked, Answer: "approve"}); err != nil {
		t.Fatal(err)
	}
	if result, err = end(); err != nil || !result.Success {
		t.Errorf("%+v, %v", result, err)
	}
}

// on_timeout: escalate asks without a limit, and the attempt that follows asks anew.
func TestAnUnansweredToolQuestionEscalates(t *testing.T) {
	agent := carefully("a")
	e := carefulEngine(t, project(t, strings.Replace(carefulStage, "default: prompt", "timeout: 0.01, on_timeout: escalate", 1)), agent)
	ctx, cancel := context.WithCancelCause(t.Context())
	asked, end := runs(t, func(observe func(engine.Update)) (*engine.Result, error) {
		return e.Run(ctx, engine.RunOptions{Pipeline: "two", Session: "demo", Wait: true, Observe: observe})
	})
	tool, escalated := <-asked, <-asked
	open, err := e.Questions("demo")
	if err != nil || len(open) != 1 || open[0].ID != escalated || open[0].Kind != "escalation" || open[0].Due != nil {
		t.Fatalf("open %+v, %v", open, err)
	}
	if err := e.Answer(t.Context(), engine.AnswerOptions{Session: "demo", Answer: "approve"}); err != nil {
		t.Fatal(err)
	}
	if id := <-asked; id != tool {
		t.Errorf("asked %s, want %s again", id, tool)
	}
	<-asked // nobody answers in time again
	cancel(errors.New("enough"))
	if result, err := end(); err != nil || result.Status != state.Paused || len(agent.heard()) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
