package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// askingProvider is an agent that asks before each tool call.
type askingProvider struct{ agent }

func (a askingProvider) Describe() sdk.Component {
	return sdk.Component{Name: "asking", Provider: &sdk.ProviderTraits{GatedTools: true}}
}

func (a askingProvider) Provider(context.Context, string, *plan.Node, ...string) (sdk.Provider, error) {
	return a, nil
}

// fakeUser answers questions and records them.
type fakeUser struct {
	answer func(ctx context.Context, d event.QuestionAskedData) (event.QuestionAnsweredData, error)

	mu        sync.Mutex // guards questions
	questions []event.QuestionAskedData
}

func (p *fakeUser) ask(ctx context.Context, e event.Event) (event.QuestionAnsweredData, error) {
	d, err := event.Decode[event.QuestionAskedData](e)
	if err != nil {
		return event.QuestionAnsweredData{}, err
	}
	p.mu.Lock()
	p.questions = append(p.questions, d)
	p.mu.Unlock()
	if p.answer == nil {
		return event.QuestionAnsweredData{}, errors.New("no question is allowed here")
	}
	return p.answer(ctx, d)
}

func answerWith(word, text string) func(context.Context, event.QuestionAskedData) (event.QuestionAnsweredData, error) {
	return func(_ context.Context, d event.QuestionAskedData) (event.QuestionAnsweredData, error) {
		return event.QuestionAnsweredData{ID: d.ID, Answer: word, Text: text, Digest: d.Digest}, nil
	}
}

func answerExpired(_ context.Context, d event.QuestionAskedData) (event.QuestionAnsweredData, error) {
	return event.QuestionAnsweredData{ID: d.ID, Answer: event.AnswerReject, Digest: d.Digest, Expired: true}, nil
}

// newGatedFixture returns a fixture whose agent asks before its calls and then continues, whatever the verdict.
func newGatedFixture(t *testing.T, p *plan.Approvals, onVerdict func(sdk.Verdict, error), calls ...sdk.ToolCall) *fixture {
	t.Helper()
	b := newFixture(t, nil)
	b.node.Policy = &plan.Policy{Approvals: p}
	b.maker.Providers = askingProvider{working(func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) {
		for _, c := range calls {
			onVerdict(x.Call(ctx, c))
		}
	})}
	return b
}

// U175, K25: a call gets its verdict after its intent is journaled; the user is asked only where the policy says so.
func TestVerdicts(t *testing.T) {
	call := sdk.ToolCall{CallID: "c1", Tool: "write", Args: json.RawMessage(`{"path":"a.go"}`), Effect: sdk.EffectOnce}
	id := event.ToolQuestionID(event.Location{Node: "0", Visit: 1, Run: 1, Iteration: 1}, "c1")
	for _, tt := range []struct {
		name   string
		policy *plan.Approvals
		waits  bool
		answer func(context.Context, event.QuestionAskedData) (event.QuestionAnsweredData, error)
		want   sdk.Verdict
		by     string // id of the question in the record
	}{
		{"no policy", nil, true, nil, sdk.Verdict{Action: sdk.VerdictRun}, ""},
		{"auto", &plan.Approvals{Default: "auto"}, true, nil, sdk.Verdict{Action: sdk.VerdictRun}, ""},
		{"deny", &plan.Approvals{Default: "deny"}, true, nil, sdk.Verdict{Action: sdk.VerdictDeny, Reason: "tool calls are denied by policy.approvals.default"}, ""},
		{"no user there", &plan.Approvals{}, false, nil, sdk.Verdict{
			Action: sdk.VerdictDeny, Reason: "no user can allow it, and policy.approvals.non_interactive is deny",
		}, ""},
		{"no user there: auto", &plan.Approvals{NonInteractive: "auto"}, false, nil, sdk.Verdict{Action: sdk.VerdictRun}, ""},
		{"no user there: skip", &plan.Approvals{NonInteractive: "skip"}, false, nil, sdk.Verdict{
			Action: sdk.VerdictSkip, Reason: "no user can allow it, and policy.approvals.non_interactive is skip",
		}, ""},
		{"approved", &plan.Approvals{}, true, answerWith("approve", ""), sdk.Verdict{Action: sdk.VerdictRun}, id},
		{"refused", &plan.Approvals{}, true, answerWith("reject", "use git rm"), sdk.Verdict{Action: sdk.VerdictDeny, Reason: "use git rm"}, id},
		{"left out", &plan.Approvals{}, true, answerWith("skip", ""), sdk.Verdict{Action: sdk.VerdictSkip, Reason: "the user skipped it"}, id},
		{"late", &plan.Approvals{OnTimeout: "skip"}, true, answerExpired, sdk.Verdict{
			Action: sdk.VerdictSkip, Reason: "there was no answer in time, and policy.approvals.on_timeout is skip",
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got sdk.Verdict
			var b *fixture
			b = newGatedFixture(t, tt.policy, func(v sdk.Verdict, err error) {
				if got = v; err != nil || len(recorded[event.ToolCallData](b, event.ToolCall)) != 1 {
					t.Errorf("verdict %+v, %v, with %d intents", v, err, len(recorded[event.ToolCallData](b, event.ToolCall)))
				}
			}, call)
			b.state.Waits, b.person.answer = tt.waits, tt.answer
			if e := b.run(t.Context(), 1, 1); e.Type != event.IterationComplete {
				t.Fatalf("%s %s", e.Type, e.Data)
			}
			tt.want.CallID = "c1"
			testkit.Equal(t, tt.want, got)
			want := []event.ToolCallData{{
				CallID: "c1", Tool: "write", Effect: "once", Args: call.Args, Verdict: string(tt.want.Action), Reason: tt.want.Reason, Question: tt.by,
			}}
			if tt.policy != nil {
				want[0].Rule = "default"
			}
			testkit.Equal(t, want, recorded[event.ToolCallData](b, event.ToolCall))
			testkit.Equal(t, tt.answer != nil, len(b.person.questions) == 1)
		})
	}
}

// A question shows the whole call, and its digest covers the call. The same call has the same question again;
// different calls have different questions.
func TestToolQuestions(t *testing.T) {
	long := json.RawMessage(`{"text":"` + strings.Repeat("x", 2*500) + `"}`)
	calls := []sdk.ToolCall{
		{CallID: "c1", Tool: "write", Args: json.RawMessage(`{"path":"a.go"}`)},
		{CallID: "c2", Tool: "write", Args: json.RawMessage(`{"path":"b.go"}`)},
		{CallID: "c3", Tool: "write", Args: long},
	}
	ask := func(t *testing.T, attempt int) (*fixture, []event.QuestionAskedData) {
		b := newGatedFixture(t, &plan.Approvals{Timeout: 60}, func(sdk.Verdict, error) {}, calls...)
		b.state.Waits, b.person.answer = true, answerWith("approve", "")
		before := time.Now()
		b.run(t.Context(), 1, attempt)
		for i := range b.person.questions {
			d := &b.person.questions[i]
			if d.Due == nil || d.Due.Before(before.Add(time.Minute)) || d.Due.After(time.Now().Add(time.Minute)) {
				t.Errorf("due %v", d.Due)
			}
			d.Due = nil
		}
		return b, b.person.questions
	}
	b, first := ask(t, 1)
	want := event.QuestionAskedData{
		ID: first[0].ID, Digest: first[0].Digest, Kind: "tool", Text: "the agent wants to run write", Options: []string{"approve", "reject", "skip"},
		AcceptFeedback: true, Preview: "{\n  \"path\": \"a.go\"\n}", Call: &event.AskedCall{Tool: "write", Risk: "high", Rule: "default"},
	}
	testkit.Equal(t, want, first[0])
	whole, err := b.maker.Dir.ReadRef(first[2].Shown[0])
	if want := "{\n  \"text\": \"" + strings.Repeat("x", 2*500) + "\"\n}"; err != nil || string(whole) != want || !strings.HasPrefix(first[2].Preview, "{\n  \"text\": \"xxx") || len(first[2].Preview) > 500 {
		t.Errorf("preview %q of %q, %v", first[2].Preview, whole, err)
	}
	_, second := ask(t, 2) // attempt numbers start again after a crash
	for i := range first {
		if first[i].ID != second[i].ID || first[i].Digest != second[i].Digest {
			t.Errorf("call %d: asked as %s, then as %s", i+1, first[i].ID, second[i].ID)
		}
	}
	for _, member := range []func(event.QuestionAskedData) string{
		func(d event.QuestionAskedData) string { return d.ID }, func(d event.QuestionAskedData) string { return d.Digest },
	} {
		if ids := []string{member(first[0]), member(first[1]), member(first[2])}; len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 3 {
			t.Errorf("not three different ones: %q", ids)
		}
	}
}

// U175, U190: the provider's description of a call is journaled with it. The user sees 50 lines of its preview; files
// have the whole preview and the arguments.
func TestCallPreview(t *testing.T) {
	var preview, whole strings.Builder
	for i := range 60 {
		line := fmt.Sprintf("+line %d\n", i+1)
		whole.WriteString(line)
		if i < 50 {
			preview.WriteString(line)
		}
	}
	call := sdk.ToolCall{
		CallID: "c1", Tool: "write_file", Args: json.RawMessage(`{"path":"src/a.go","content":"a\nb\n","mode":420}`), Effect: sdk.EffectIdempotent,
		Category: sdk.CategoryFileWrite, Paths: []string{"src/a.go"}, Turn: 3, Preview: whole.String(), Reason: "it is missing",
	}
	b := newGatedFixture(t, &plan.Approvals{Rules: []plan.ApprovalRule{{Name: "sources", Pattern: "src/**", Policy: "prompt"}}}, func(sdk.Verdict, error) {}, call)
	b.state.Waits, b.person.answer = true, answerWith("approve", "")
	b.run(t.Context(), 1, 1)
	asked := b.person.questions[0]
	want := event.QuestionAskedData{
		ID: asked.ID, Digest: asked.Digest, Kind: "tool", Text: "the agent wants to run write_file: src/a.go", Options: []string{"approve", "reject", "skip"},
		AcceptFeedback: true, Preview: preview.String() + "…", Shown: asked.Shown, Call: &event.AskedCall{
			Tool: "write_file", Operation: "file_write", Paths: []string{"src/a.go"}, Reason: "it is missing", Risk: "medium", Rule: "sources",
		},
	}
	testkit.Equal(t, want, asked)
	for i, want := range []string{whole.String(), "content:\na\nb\nmode: 420\npath: \"src/a.go\"\n"} {
		testkit.Equal(t, want, string(testkit.Must(b.maker.Dir.ReadRef(asked.Shown[i]))))
	}
	intents := []event.ToolCallData{{
		CallID: "c1", Tool: "write_file", Effect: "idempotent", Args: call.Args, Turn: 3, Category: "file_write", Paths: []string{"src/a.go"},
		Verdict: "run", Rule: "sources", Question: asked.ID,
	}}
	testkit.Equal(t, intents, recorded[event.ToolCallData](b, event.ToolCall))
	// The digest covers the shown texts: another preview or reason is another question.
	for _, change := range []func(*sdk.ToolCall){
		func(c *sdk.ToolCall) { c.Preview = "other" }, func(c *sdk.ToolCall) { c.Reason = "other" }, func(c *sdk.ToolCall) { c.Paths = nil },
		func(c *sdk.ToolCall) { c.Command = "other" }, func(c *sdk.ToolCall) { c.Category = "" },
	} {
		other := call
		change(&other)
		b := newGatedFixture(t, &plan.Approvals{Default: "prompt"}, func(sdk.Verdict, error) {}, other)
		b.state.Waits, b.person.answer = true, answerWith("approve", "")
		b.run(t.Context(), 1, 1)
		if d := b.person.questions[0]; d.Digest == asked.Digest || d.ID != asked.ID {
			t.Errorf("%+v: the same question", other)
		}
	}
}

// U190: a result names its call, the time since the call was allowed, and the attempt's usage so far. The time of the
// user's answer is not included.
func TestResultsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, nil)
		b.node.Policy = &plan.Policy{Approvals: &plan.Approvals{}}
		b.state.Waits = true
		b.person.answer = func(ctx context.Context, d event.QuestionAskedData) (event.QuestionAnsweredData, error) {
			time.Sleep(time.Hour)
			return answerWith("approve", "")(ctx, d)
		}
		b.maker.Providers = askingProvider{working(func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) {
			in, out := int64(40), int64(2)
			x.Result(sdk.ToolResult{CallID: "unknown", Status: sdk.ToolSuccess})
			x.Usage(sdk.Usage{InputTokens: &in, OutputTokens: &out})
			if _, err := x.Call(ctx, sdk.ToolCall{CallID: "c1", Tool: "write", Turn: 2}); err != nil {
				t.Error(err)
			}
			time.Sleep(1500 * time.Millisecond)
			x.Observe(sdk.ToolCall{CallID: "c2", Tool: "read", Turn: 2})
			x.Result(sdk.ToolResult{CallID: "c1", Status: sdk.ToolSuccess})
			x.ObserveResult(sdk.ToolResult{CallID: "c2", Status: sdk.ToolDenied})
		})}
		b.run(t.Context(), 1, 1)
		got := recorded[event.ToolResultData](b, event.ToolResult)
		want := []event.ToolResultData{
			{CallID: "unknown", Status: "success"},
			{CallID: "c1", Tool: "write", Turn: 2, Status: "success", DurationMS: 1500, TokensUsed: 42},
			{CallID: "c2", Tool: "read", Turn: 2, Status: "denied", DurationMS: 1, TokensUsed: 42, Observed: true},
		}
		testkit.Equal(t, want, got)
	})
}

// D7, C5: the attempt may write its own report files under a policy that denies. Other calls are denied.
func TestGuardedCalls(t *testing.T) {
	var actions []sdk.VerdictAction
	b := newFixture(t, nil)
	b.node.Policy = &plan.Policy{Approvals: &plan.Approvals{Default: "deny"}}
	b.maker.Providers = askingProvider{working(func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) {
		own, err := filepath.Rel(req.WorkDir, req.Paths.Result)
		if err != nil {
			t.Error(err)
		}
		for i, path := range []string{own, req.Paths.Result, req.Paths.Status, req.Paths.Progress, req.Paths.Attempt + "/x", req.Paths.Context, "a.go"} {
			v, err := x.Call(ctx, sdk.ToolCall{CallID: fmt.Sprint(i), Tool: "w", Category: sdk.CategoryFileWrite, Paths: []string{path}})
			if actions = append(actions, v.Action); err != nil {
				t.Error(err)
			}
		}
	})}
	b.run(t.Context(), 1, 1)
	testkit.Equal(t, []sdk.VerdictAction{"run", "run", "run", "run", "run", "deny", "deny"}, actions)
	var rules []string
	for _, d := range recorded[event.ToolCallData](b, event.ToolCall) {
		rules = append(rules, d.Rule)
	}
	testkit.Equal(t, []string{"report", "report", "report", "report", "report", "workspace", "default"}, rules)
}

// DIALECT B8: a call that ends the attempt does so even if the provider continues.
func TestCallsThatEndTheAttempt(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   plan.Approvals
		waits    bool
		message  string
		hint     string
		escalate bool
	}{
		{
			"fail",
			plan.Approvals{NonInteractive: "fail"},
			false,
			"the agent wants to run write: no user can allow it, and policy.approvals.non_interactive is fail",
			"`resume demo --wait` asks the user", false,
		},
		{"escalate", plan.Approvals{OnTimeout: "escalate", Timeout: 1}, true, "the agent wants to run write: no answer came in time", "policy.approvals.on_timeout", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var verdictErr error
			b := newGatedFixture(t, &tt.policy, func(_ sdk.Verdict, err error) { verdictErr = err }, sdk.ToolCall{CallID: "c1", Tool: "write"})
			b.state.Waits, b.person.answer = tt.waits, answerExpired
			d := b.failure(b.run(t.Context(), 1, 1))
			if d.ErrorType != "approval_required" || d.Code != "ACODE-EXEC-005" || d.Message != tt.message || !strings.Contains(d.Remedy, tt.hint) || d.Retryable || d.Escalate != tt.escalate {
				t.Errorf("failure %+v", d)
			}
			if verdictErr == nil || len(recorded[event.ToolCallData](b, event.ToolCall)) != 0 {
				t.Errorf("verdict %v, journaled %+v", verdictErr, recorded[event.ToolCallData](b, event.ToolCall))
			}
		})
	}
}

// The attempt's deadline pauses during a question, and a provider that asks has no timeout of its own.
func TestDeadlinePausesDuringQuestion(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits bool
		limit time.Duration // that the provider receives
	}{
		{"a user", true, 0},
		{"no user", false, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, nil)
				b.node.Policy = &plan.Policy{Timeout: 10, Approvals: &plan.Approvals{}}
				b.state.Waits = tt.waits
				b.person.answer = func(ctx context.Context, d event.QuestionAskedData) (event.QuestionAnsweredData, error) {
					time.Sleep(8 * time.Hour)
					return answerWith("approve", "")(ctx, d)
				}
				b.maker.Providers = askingProvider{working(func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) {
					if req.Timeout != tt.limit {
						t.Errorf("timeout %s, want %s", req.Timeout, tt.limit)
					}
					for _, id := range []string{"c1", "c2"} {
						if _, err := x.Call(ctx, sdk.ToolCall{CallID: id, Tool: "write"}); err != nil {
							t.Error(err)
						}
						time.Sleep(4 * time.Second)
					}
				})}
				if e := b.run(t.Context(), 1, 1); e.Type != event.IterationComplete {
					t.Errorf("%s %s", e.Type, e.Data)
				}
			})
		})
	}
	t.Run("its own time is over all the same", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newFixture(t, nil)
			b.node.Policy = &plan.Policy{Timeout: 10, Approvals: &plan.Approvals{}}
			b.state.Waits = true
			b.person.answer = func(ctx context.Context, d event.QuestionAskedData) (event.QuestionAnsweredData, error) {
				time.Sleep(time.Hour)
				return answerWith("approve", "")(ctx, d)
			}
			b.maker.Providers = askingProvider{func(ctx context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
				_, _ = x.Call(ctx, sdk.ToolCall{CallID: "c1", Tool: "write"})
				<-ctx.Done()
				return sdk.ExecuteResult{}, ctx.Err()
			}}
			began := time.Now()
			d := b.failure(b.run(t.Context(), 1, 1))
			if d.ErrorType != string(failure.IterationTimeout) || time.Since(began) != time.Hour+10*time.Second {
				t.Errorf("after %s: %+v", time.Since(began), d)
			}
		})
	})
}

// U177: a resumed attempt keeps the journaled verdicts, except for refusals by the policy and for changed calls.
func TestVerdictsAfterACrash(t *testing.T) {
	args := json.RawMessage(`{ "path": "a.go" }`)
	journaled := event.ToolCallData{CallID: "c1", Tool: "write", Args: json.RawMessage(`{"path":"a.go"}`), Verdict: "run", Question: "q-1"}
	big := json.RawMessage(`"` + strings.Repeat("x", maxInline) + `"`)
	for _, tt := range []struct {
		name string
		was  *event.ToolCallData
		call sdk.ToolCall
		want string // verdict; the user rejects every question
	}{
		{"only asked about", nil, sdk.ToolCall{Tool: "write", Args: args}, "deny"},
		{"approved", &journaled, sdk.ToolCall{Tool: "write", Args: args}, "run"},
		{"passed by the policy", &event.ToolCallData{Tool: "write", Args: journaled.Args, Verdict: "run"}, sdk.ToolCall{Tool: "write", Args: args}, "run"},
		{"refused by the user", &event.ToolCallData{Tool: "write", Verdict: "skip", Question: "q-1"}, sdk.ToolCall{Tool: "write"}, "skip"},
		{"refused by the policy", &event.ToolCallData{Tool: "write", Verdict: "skip"}, sdk.ToolCall{Tool: "write"}, "deny"},
		{"another tool", &journaled, sdk.ToolCall{Tool: "delete", Args: args}, "deny"},
		{"another path", &event.ToolCallData{Tool: "write", Paths: []string{"a"}, Verdict: "run"}, sdk.ToolCall{Tool: "write", Paths: []string{"b"}}, "deny"},
		{"another command", &event.ToolCallData{Tool: "write", Command: "a", Verdict: "run"}, sdk.ToolCall{Tool: "write", Command: "b"}, "deny"},
		{"another category", &event.ToolCallData{Tool: "write", Category: "file_read", Verdict: "run"}, sdk.ToolCall{Tool: "write", Category: "file_write"}, "deny"},
		{"other arguments", &journaled, sdk.ToolCall{Tool: "write", Args: json.RawMessage(`{"path":"b.go"}`)}, "deny"},
		{"arguments in a file", nil, sdk.ToolCall{Tool: "write", Args: big}, "run"},
		{"others than in the file", nil, sdk.ToolCall{Tool: "write", Args: json.RawMessage(`"y` + string(big[1:]))}, "deny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got sdk.Verdict
			tt.call.CallID = "c1"
			b := newGatedFixture(t, &plan.Approvals{}, func(v sdk.Verdict, err error) {
				if got = v; err != nil {
					t.Error(err)
				}
			}, tt.call)
			if strings.Contains(tt.name, "file") {
				ref := testkit.Must(b.maker.Dir.Write("args", big))
				tt.was = &event.ToolCallData{Tool: "write", ArgsRef: &ref, Verdict: "run"}
			}
			loop := state.Loop{Progress: state.Progress{Phase: state.PhaseAttempt, Attempt: 1}}
			if tt.was != nil {
				tt.was.CallID = "c1"
				loop.Calls = []state.Call{{Call: *tt.was}}
			}
			b.state.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Loop: loop}}
			b.state.Waits, b.person.answer = true, answerWith("reject", "")
			b.run(t.Context(), 1, 1)
			if asked := tt.want == "deny"; string(got.Action) != tt.want || asked != (len(b.person.questions) == 1) {
				t.Errorf("verdict %+v, asked %+v", got, b.person.questions)
			}
			if made := recorded[event.ToolCallData](b, event.ToolCall); len(made) != 1 || made[0].Verdict != tt.want {
				t.Errorf("journaled %+v", made)
			}
		})
	}
}
