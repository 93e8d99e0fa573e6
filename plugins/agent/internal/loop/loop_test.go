package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// result reads result.json.
func result(t *testing.T, w Attempt) map[string]any {
	t.Helper()
	return readObject(w.Request.Paths.Result)
}

// lastMessage returns the text of the last message of the n-th request.
func lastMessage(s *scriptedModel, n int) string {
	messages := s.requests[n-1].Messages
	last := messages[len(messages)-1]
	text := last.Text
	for _, r := range last.Results {
		text += "\n" + r.Text
	}
	return text
}

func TestOrder(t *testing.T) { // U163, U168, U179
	s := &scriptedModel{replies: []model.Reply{
		newReply("a", "read_file", `{"path":"a"}`, "read_file", `{"path":"b"}`, "search_code", `{}`, "write_file", `{"path":"c"}`, "read_file", `{"path":"c"}`),
		newReply("", "finish", success),
	}}
	w, j, e := newAttempt(t, s, nil)
	e.hold = make(chan struct{}) // the three reads wait for each other
	got := succeed(t, w)
	if e.maxRunning != 3 {
		t.Errorf("%d calls at once", e.maxRunning)
	}
	var ids []string
	for _, c := range j.calls() {
		ids = append(ids, c.CallID)
	}
	if diff := cmp.Diff([]string{"t1.1-c1", "t1.2-c2", "t1.3-c3", "t1.4-c4", "t1.5-c5"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"c"}, result(t, w)["work"].(map[string]any)["files_touched"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if *got.Usage.InputTokens != 200 || *got.Usage.OutputTokens != 20 || got.Usage.CostUSD != nil || got.Model != "m" {
		t.Errorf("usage %+v, model %s", got.Usage, got.Model)
	}
	// intent, effect and result are recorded before the next request (U176)
	if n := len(j.checkpoints()); n != 3 {
		t.Errorf("%d checkpoints", n)
	}
}

func TestTurnLimit(t *testing.T) { // U164
	tests := []struct {
		name   string
		change func(*Attempt)
		turns  int
	}{
		{"of a step", func(w *Attempt) { w.Request.StepID = "s1" }, 10},
		{"of the request", func(w *Attempt) { w.Request.StepID, w.Request.MaxTurns = "s1", 4 }, 4},
		{"of the provider", func(w *Attempt) { w.MaxTurns = 7 }, 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scriptedModel{replies: []model.Reply{newReply("", "read_file", `{"path":"a"}`)}}
			w, _, e := newAttempt(t, s, tt.change)
			got, err := Run(t.Context(), w)
			if err != nil || got.Error == nil || got.Error.Kind != failure.TurnLimit || got.Outcome != sdk.OutcomeFailed {
				t.Fatalf("%+v, error %v", got, err)
			}
			if len(s.requests) != tt.turns || e.calls[`read_file{"path":"a"}`] != tt.turns {
				t.Errorf("%d turns, effects %v", len(s.requests), e.calls)
			}
			if last := lastMessage(s, tt.turns); !strings.Contains(last, "one turn left") {
				t.Errorf("before the last turn the model gets %q", last)
			}
		})
	}
}

// U316: turns in a row with the same calls and results end the attempt, and so do sequences of two and three turns.
func TestIdenticalTurns(t *testing.T) {
	again := newReply("", "read_file", `{"path":"a"}`)
	other := newReply("", "read_file", `{"path":"b"}`)
	tests := []struct {
		name    string
		replies []model.Reply
		limit   int
		turns   int
		want    string
	}{
		{"the default", []model.Reply{again}, 3, 3, "the same call of read_file 3 times"},
		{"another limit", []model.Reply{again}, 5, 5, "the same call of read_file 5 times"},
		{"no limit", []model.Reply{again}, 0, 10, "all its 10 turns"},
		{"in turn with another call", []model.Reply{again, other, again, again, other, other, again, again, again, other}, 5, 10, "all its 10 turns"},
		{"two calls in turns", []model.Reply{again, other, again, other, again, other}, 3, 6, "the same 2 turns 3 times"},
		{"three calls in turns", []model.Reply{again, again, other, again, again, other, again, again, other}, 3, 9, "the same 3 turns 3 times"},
		{"after another call", []model.Reply{other, again, again, again}, 3, 4, "the same call of read_file 3 times"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scriptedModel{replies: tt.replies}
			w, _, _ := newAttempt(t, s, func(w *Attempt) { w.MaxTurns, w.IdenticalTurns = 10, tt.limit })
			got, err := Run(t.Context(), w)
			if err != nil || got.Error == nil || got.Error.Kind != failure.TurnLimit || !strings.Contains(got.Error.Message, tt.want) || len(s.requests) != tt.turns {
				t.Fatalf("%+v, error %v, %d turns", got, err, len(s.requests))
			}
			if warned := strings.Contains(lastMessage(s, tt.turns), sameAgain); warned != strings.Contains(tt.want, "the same ") {
				t.Errorf("before the last turn the model gets %q", lastMessage(s, tt.turns))
			}
		})
	}
}

func TestBadCallsAreReported(t *testing.T) { // U169, U174
	bad := newReply("", "read_file", `{}`, "no_such_tool", `{"a":1}`, "write_file", `{"path":"../x"}`)
	bad.Calls[0].Malformed = `{"path": "a`
	s := &scriptedModel{replies: []model.Reply{bad, newReply("", "finish", success)}}
	w, j, e := newAttempt(t, s, nil)
	e.refuse = map[string]*tool.Refusal{"write_file": {Status: sdk.ToolDenied, Code: tool.CodeSandbox, Message: "../x is outside the workspace"}}
	succeed(t, w)
	for _, want := range []string{"not a JSON object", "ACODE-EXEC-007", "no tool no_such_tool", "ACODE-EXEC-004", "outside the workspace"} {
		if !strings.Contains(lastMessage(s, 2), want) {
			t.Errorf("the model does not get %q: %s", want, lastMessage(s, 2))
		}
	}
	var observed []string
	for _, entry := range j.events {
		if entry.observedResult != nil {
			observed = append(observed, entry.observedResult.CallID+" "+string(entry.observedResult.Status))
		}
	}
	if diff := cmp.Diff([]string{"t1.1-c1 error", "t1.2-c2 error", "t1.3-c3 denied"}, observed); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if len(j.calls()) != 0 {
		t.Errorf("the kernel was asked about %v", j.calls())
	}
}

func TestVerdicts(t *testing.T) {
	verdicts := map[string]sdk.Verdict{
		"write_file":   {Action: sdk.VerdictDeny, Reason: "not here"},
		"delete_file":  {Action: sdk.VerdictSkip, Reason: "leave it"},
		"run_terminal": {Action: sdk.VerdictRun, Reason: "but be quick"},
	}
	s := &scriptedModel{replies: []model.Reply{
		newReply("", "write_file", `{"path":"a"}`, "delete_file", `{"path":"b"}`, "run_terminal", `{"command":"make"}`),
		newReply("", "finish", success),
	}}
	w, j, e := newAttempt(t, s, nil)
	j.verdict = func(c sdk.ToolCall) sdk.Verdict { return verdicts[c.Tool] }
	end(t, w)
	if diff := cmp.Diff(map[string]int{`run_terminal{"command":"make"}`: 1}, e.calls); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	for _, want := range []string{"not allowed: not here", "leave it", "ACODE-EXEC-005", "but be quick"} {
		if !strings.Contains(lastMessage(s, 2), want) {
			t.Errorf("the model does not get %q: %s", want, lastMessage(s, 2))
		}
	}
	var statuses []sdk.ToolStatus
	for _, entry := range j.events {
		if entry.result != nil {
			statuses = append(statuses, entry.result.Status)
		}
	}
	slices.Sort(statuses)
	if diff := cmp.Diff([]sdk.ToolStatus{sdk.ToolDenied, sdk.ToolDenied, sdk.ToolSuccess}, statuses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestForbidden(t *testing.T) {
	outside := map[string]*tool.Refusal{"write_file": {Status: sdk.ToolDenied, Code: tool.CodeSandbox, Message: "outside the workspace"}}
	deny := func(sdk.ToolCall) sdk.Verdict { return sdk.Verdict{Action: sdk.VerdictDeny, Reason: "no"} }
	const fail = `{"outcome":"fail","summary":"it does not go"}`
	tests := []struct {
		name    string
		refuse  map[string]*tool.Refusal
		verdict func(sdk.ToolCall) sdk.Verdict
		calls   []string
		last    string
		turns   int
		want    failure.Kind
	}{
		{"outside, then fail", outside, nil, []string{"write_file", `{}`}, fail, 0, failure.SandboxViolation},
		{"denied, then fail", nil, deny, []string{"write_file", `{}`}, fail, 0, failure.ApprovalDenied},
		{"outside, then denied", outside, deny, []string{"write_file", `{}`, "run_terminal", `{}`}, fail, 0, failure.ApprovalDenied},
		{"outside, then no turns left", outside, nil, []string{"write_file", `{}`}, "", 3, failure.SandboxViolation},
		{"denied, then no turns left", nil, deny, []string{"write_file", `{}`}, "", 3, failure.ApprovalDenied},
		{"nothing refused", nil, nil, []string{"write_file", `{}`}, fail, 0, ""},
		{"outside, then success", outside, nil, []string{"write_file", `{}`}, success, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scriptedModel{replies: []model.Reply{newReply("", tt.calls...)}}
			if tt.last != "" {
				s.replies = append(s.replies, newReply("", "finish", tt.last))
			}
			w, j, e := newAttempt(t, s, func(w *Attempt) { w.Request.MaxTurns = tt.turns })
			e.refuse, j.verdict = tt.refuse, tt.verdict
			got := end(t, w)
			var kind failure.Kind
			if got.Error != nil {
				kind = got.Error.Kind
			}
			if kind != tt.want {
				t.Errorf("got %q, want %q: %v", kind, tt.want, got.Error)
			}
		})
	}
}

// U327: more refused calls than the limit end the attempt before a finish succeeds; a resumed attempt continues the count.
func TestViolations(t *testing.T) {
	outside := map[string]*tool.Refusal{"write_file": {Status: sdk.ToolDenied, Code: tool.CodeSandbox, Message: "outside the workspace"}}
	tests := []struct {
		name           string
		before, calls  int
		limit, effects int
		want           failure.Kind
	}{
		{"as many as allowed", 0, 10, 0, 1, ""},
		{"one more", 0, 11, 0, 0, failure.SandboxViolation},
		{"a higher limit", 0, 11, 11, 1, ""},
		{"a lower limit", 0, 3, 2, 0, failure.SandboxViolation},
		{"after a resume", 10, 1, 0, 0, failure.SandboxViolation},
		{"after a resume, fewer", 9, 1, 0, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var calls []string
			for range tt.calls {
				calls = append(calls, "write_file", `{}`)
			}
			s := &scriptedModel{replies: []model.Reply{newReply("", append(calls, "run_terminal", `{}`)...), newReply("", "finish", success)}}
			w, _, e := newAttempt(t, s, func(w *Attempt) {
				w.Request.Tools.MaxViolations = tt.limit
				if tt.before > 0 {
					blob := fmt.Sprintf(`{"version":1,"window":10,"turn":1,"outside":true,"violations":%d}`, tt.before)
					w.Request.Resume = &sdk.Resume{Checkpoint: sdk.Checkpoint{Turn: 1, Blob: []byte(blob)}}
				}
			})
			e.refuse = outside
			got := end(t, w)
			var kind failure.Kind
			if got.Error != nil {
				kind = got.Error.Kind
			}
			if kind != tt.want || len(e.calls) != tt.effects {
				t.Errorf("got %q with %d calls made, want %q with %d: %v", kind, len(e.calls), tt.want, tt.effects, got.Error)
			}
		})
	}
}

func TestRepliesWithoutCalls(t *testing.T) { // a reply without a call is a turn
	t.Run("are the end where nothing else is wanted", func(t *testing.T) {
		s := &scriptedModel{replies: []model.Reply{newReply("I think."), newReply("All is done.")}}
		w, j, _ := newAttempt(t, s, nil)
		got, err := Run(t.Context(), w)
		if err != nil || got.Outcome != sdk.OutcomeSucceeded || result(t, w)["summary"] != "All is done." {
			t.Fatalf("%+v, error %v, result %v", got, err, result(t, w))
		}
		if lastMessage(s, 2) != callOrFinish || j.output != "I think.\n\nAll is done.\n\n" {
			t.Errorf("answer %q, output %q", lastMessage(s, 2), j.output)
		}
	})
	for name, change := range map[string]func(*Attempt){
		"of a step":                func(w *Attempt) { w.Request.StepID = "s" },
		"where an artifact is due": func(w *Attempt) { w.Request.ArtifactSchema = json.RawMessage(`{"type":"object"}`) },
	} {
		t.Run(name+" are no end", func(t *testing.T) {
			s := &scriptedModel{replies: []model.Reply{newReply("I think.")}}
			w, _, _ := newAttempt(t, s, func(w *Attempt) { change(w); w.Request.MaxTurns = 5 })
			got, err := Run(t.Context(), w)
			if err != nil || got.Error == nil || got.Error.Kind != failure.TurnLimit || len(s.requests) != 5 {
				t.Errorf("%+v, error %v, %d turns", got, err, len(s.requests))
			}
		})
	}
}

func TestServiceFails(t *testing.T) { // U178
	err := failure.New(failure.ProviderFailed, "no credit")
	s := &scriptedModel{replies: []model.Reply{newReply("", "read_file", `{}`)}, errs: map[int]error{2: &model.Failure{Outcome: sdk.OutcomeNeedsPerson, Err: err}}}
	w, _, _ := newAttempt(t, s, nil)
	got, failed := Run(t.Context(), w)
	if failed != nil || got.Outcome != sdk.OutcomeNeedsPerson || got.Error != err || *got.Usage.InputTokens != 100 {
		t.Errorf("%+v, error %v", got, failed)
	}
	declines := newReply("I will not.")
	declines.Stop = model.StopRefused
	w, _, _ = newAttempt(t, &scriptedModel{replies: []model.Reply{declines}}, nil)
	if got, err := Run(t.Context(), w); err != nil || got.Outcome != sdk.OutcomeFailed || got.Error == nil || got.Error.Retryable {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestTooLong(t *testing.T) { // U165: the window narrows before the attempt fails
	long := &model.Failure{Outcome: sdk.OutcomeFailed, Err: failure.New(failure.ProviderFailed, "too long"), TooLong: true}
	replies := slices.Repeat([]model.Reply{newReply("", "write_file", `{"path":"a"}`)}, 12)
	s := &scriptedModel{replies: append(replies, newReply("", "finish", success)), errs: map[int]error{13: long, 14: long}}
	w, _, e := newAttempt(t, s, nil)
	e.size = 1000
	succeed(t, w)
	for i, want := range []int{10, 5, 2} {
		if got := inFull(s.requests[12+i]); got != want {
			t.Errorf("request %d shows %d results in full, want %d", 13+i, got, want)
		}
	}
	s = &scriptedModel{replies: replies, errs: map[int]error{1: long}}
	w, _, _ = newAttempt(t, s, func(w *Attempt) { w.Request.Resume = nil })
	s.errs = map[int]error{1: long, 2: long, 3: long, 4: long, 5: long}
	if got, err := Run(t.Context(), w); err != nil || !errors.Is(got.Error, long.Err) {
		t.Errorf("%+v, error %v", got, err)
	}
}

// inFull counts the uncut results of a request.
func inFull(r model.Request) (n int) {
	for _, m := range r.Messages {
		for _, result := range m.Results {
			if !strings.Contains(result.Text, "no longer shown") {
				n++
			}
		}
	}
	return n
}

func TestBudget(t *testing.T) { // U182
	limit := func(n int64) *int64 { return &n }
	read := []model.Reply{newReply("", "read_file", `{"path":"a"}`)}
	t.Run("tokens", func(t *testing.T) {
		s := &scriptedModel{replies: read}
		w, _, _ := newAttempt(t, s, func(w *Attempt) { w.Request.Budget = &sdk.Budget{MaxTokens: limit(2000)} })
		got := fail(t, w, failure.BudgetExceeded)
		if used := *got.Usage.InputTokens + *got.Usage.OutputTokens; used > 2000 || used == 0 {
			t.Errorf("%d tokens used", used)
		}
		if last := s.requests[len(s.requests)-1].MaxTokens; last == 0 || last > 2000 {
			t.Errorf("the last reply could have %d tokens", last)
		}
	})
	t.Run("of a service that counts nothing", func(t *testing.T) {
		silent := read[0]
		silent.Usage = sdk.Usage{}
		s := &scriptedModel{replies: []model.Reply{silent}}
		w, j, _ := newAttempt(t, s, func(w *Attempt) { w.Request.Budget = &sdk.Budget{MaxTokens: limit(5000)} })
		got, err := Run(t.Context(), w)
		if err != nil || got.Error == nil || got.Error.Kind != failure.BudgetExceeded || len(s.requests) < 2 {
			t.Fatalf("%+v, error %v, %d turns", got, err, len(s.requests))
		}
		if diff := cmp.Diff(&sdk.Usage{}, got.Usage); diff != "" || j.usages[0] != (sdk.Usage{}) {
			t.Errorf("unknown became known: %s", diff)
		}
	})
	t.Run("dollars", func(t *testing.T) {
		most := 0.01
		w, _, _ := newAttempt(t, &scriptedModel{replies: read}, func(w *Attempt) {
			w.Request.Budget = &sdk.Budget{MaxUSD: &most}
			w.Price = func(u sdk.Usage) *float64 {
				if u.InputTokens == nil {
					return nil
				}
				cost := float64(*u.InputTokens) * 1e-5
				return &cost
			}
		})
		got, err := Run(t.Context(), w)
		if err != nil || got.Error == nil || got.Error.Kind != failure.BudgetExceeded || got.Usage.CostUSD == nil || *got.Usage.CostUSD > most {
			t.Fatalf("%+v, usage %+v, error %v", got, got.Usage, err)
		}
	})
	t.Run("that cannot hold the first turn", func(t *testing.T) {
		s := &scriptedModel{replies: read}
		w, _, _ := newAttempt(t, s, func(w *Attempt) { w.Request.Budget = &sdk.Budget{MaxTokens: limit(10)} })
		got, err := Run(t.Context(), w)
		if err != nil || got.Error == nil || got.Error.Kind != failure.BudgetExceeded || len(s.requests) != 0 || got.Usage != nil {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

func TestAnswer(t *testing.T) {
	s := &scriptedModel{replies: []model.Reply{newReply("yes")}}
	w, j, _ := newAttempt(t, s, func(w *Attempt) { w.Request.Purpose = sdk.PurposeQuestion })
	got, err := Answer(t.Context(), w)
	if err != nil || got.Output != "yes" || len(s.requests) != 1 || len(s.requests[0].Tools) != 0 || len(j.events) != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
	if _, err := os.Stat(w.Request.Paths.Result); err == nil {
		t.Error("a question leaves a result")
	}
}

// TestSilentService: a service that asks for a pause is not silent; a service that hangs is silent.
func TestSilentService(t *testing.T) { // U178
	busy := failure.New(failure.ProviderFailed, "busy")
	busy.Retryable, busy.RetryAfterSeconds = true, 30
	wait := &model.Failure{Outcome: sdk.OutcomeRateLimited, Err: busy}
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedModel{replies: []model.Reply{newReply("", "finish", success)}, errs: map[int]error{1: wait, 2: wait}}
		w, j, _ := newAttempt(t, s, func(w *Attempt) { w.Retries, w.IdleTimeout = 3, 10*time.Second })
		succeed(t, w)
		if !slices.ContainsFunc(j.progress, func(p sdk.Progress) bool { return p.Message == "Retry 2/3 in 30s: busy" }) {
			t.Errorf("the user gets %+v", j.progress)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := newAttempt(t, nil, func(w *Attempt) { w.Client, w.IdleTimeout = hanging{}, 10*time.Second })
		begun := time.Now()
		if _, err := Run(t.Context(), w); failure.KindOf(err) != failure.ProviderTimeout || time.Since(begun) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// hanging is a service that never answers.
type hanging struct{}

func (hanging) Reply(ctx context.Context, _ model.Request, _ func(string)) (model.Reply, error) {
	<-ctx.Done()
	return model.Reply{}, context.Cause(ctx)
}
