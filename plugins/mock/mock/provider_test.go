package mock

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func ptr[T any](v T) *T { return &v }

var ignoreDuration = cmpopts.IgnoreFields(sdk.ExecuteResult{}, "Duration")

func TestReply(t *testing.T) {
	type files struct{ Result, Status, Progress string }
	ok := func(output string) sdk.ExecuteResult {
		return sdk.ExecuteResult{Output: output, Outcome: sdk.OutcomeSucceeded, Model: "small"}
	}
	failed := func(outcome sdk.Outcome, e *failure.Error) sdk.ExecuteResult {
		return sdk.ExecuteResult{Output: bashText, Outcome: outcome, Model: "small", Error: e}
	}
	tests := []struct {
		name     string
		reply    string
		want     sdk.ExecuteResult
		received received
		files    files
		log      string
	}{
		{"nothing configured", `{}`, ok(bashText), received{Text: bashText}, files{Result: bashResult}, ""},
		{"output", `{"output":"hello"}`, ok("hello"), received{Text: "hello"}, files{Result: bashResult}, ""},
		{"no output", `{"output":""}`, ok(""), received{}, files{Result: bashResult}, ""},
		{"nothing at all", `{"output":"","no_result":true}`, sdk.ExecuteResult{Outcome: sdk.OutcomeEmpty, Model: ok("").Model}, received{}, files{}, ""},
		{"repeated", `{"output":"ab","output_repeat":3}`, ok("ababab"), received{Text: "ababab"}, files{Result: bashResult}, ""},
		{"chunks", `{"output_chunks":["a","b"]}`, ok("ab"), received{Text: "ab"}, files{Result: bashResult}, ""},
		{"result", `{"result":{"summary":"s"}}`, ok(bashText), received{Text: bashText}, files{Result: `{"summary":"s"}`}, ""},
		{"status", `{"status":{"decision":"stop"}}`, ok(bashText), received{Text: bashText}, files{Status: `{"decision":"stop"}`}, ""},
		{"progress", `{"progress":"- learnt\n","no_result":true}`, ok(bashText), received{Text: bashText}, files{Progress: "- learnt\n"}, ""},
		{
			"beside the output", `{"output":"x","stderr":"warn","messages":["reading","writing"],"log":"a log line"}`, ok("x"),
			received{Text: "x", Stderr: "warn", Progress: []sdk.Progress{{Message: "reading", Turn: 1}, {Message: "writing", Turn: 2}}},
			files{Result: bashResult},
			"a log line\n",
		},
		{
			"usage and versions", `{"output":"x","usage":{"input_tokens":5,"cost_usd":0.5},"model":"big","agent_version":"9","conversation":"c"}`,
			sdk.ExecuteResult{
				Output: "x", Outcome: sdk.OutcomeSucceeded, Model: "big", AgentVersion: "9", Conversation: "c",
				Usage: &sdk.Usage{InputTokens: ptr(int64(5)), CostUSD: ptr(0.5)},
			},
			received{Text: "x", Usage: []sdk.Usage{{InputTokens: ptr(int64(5)), CostUSD: ptr(0.5)}}},
			files{Result: bashResult},
			"",
		},
		{
			"exit code with a result", `{"exit_code":3,"result":{"summary":"done all the same"}}`,
			sdk.ExecuteResult{
				Output: bashText, Outcome: sdk.OutcomeFailed, ExitCode: 3, Model: "small",
				Error: &failure.Error{Kind: failure.ProviderCrashed, Message: "mock: the agent ended with exit code 3", Retryable: true},
			},
			received{Text: bashText},
			files{Result: `{"summary":"done all the same"}`},
			"",
		},
		{
			"ignored exit code", `{"exit_code":3,"outcome":"succeeded","output":"x","no_result":true}`,
			sdk.ExecuteResult{Output: "x", Outcome: sdk.OutcomeSucceeded, ExitCode: 3, Model: "small"},
			received{Text: "x"},
			files{},
			"",
		},
		{
			"retryable outcome", `{"outcome":"rate_limited"}`,
			failed(sdk.OutcomeRateLimited, &failure.Error{Kind: failure.ProviderFailed, Message: "mock: the agent ended with outcome rate_limited", Retryable: true}),
			received{Text: bashText},
			files{},
			"",
		},
		{
			"permanent outcome permission_denied", `{"outcome":"permission_denied"}`,
			failed(sdk.OutcomePermissionDenied, &failure.Error{Kind: failure.ProviderFailed, Message: "mock: the agent ended with outcome permission_denied"}),
			received{Text: bashText},
			files{},
			"",
		},
		{
			"permanent outcome needs_person", `{"outcome":"needs_person"}`,
			failed(sdk.OutcomeNeedsPerson, &failure.Error{Kind: failure.ProviderFailed, Message: "mock: the agent ended with outcome needs_person"}),
			received{Text: bashText},
			files{},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[`+tt.reply+`]}`)
			got := must(tr.execute(t.Context()))
			compare(t, tt.want, got, ignoreDuration)
			compare(t, tt.received, tr.received)
			wrote := files{tr.file(t, "result.json"), tr.file(t, "status.json"), tr.file(t, "progress.md")}
			compare(t, tt.files, wrote)
			if tr.log.String() != tt.log {
				t.Errorf("log %q, want %q", tr.log.String(), tt.log)
			}
		})
	}
}

func TestConfiguredFailure(t *testing.T) {
	tests := []struct {
		name  string
		reply string
		want  failure.Error
		out   sdk.Outcome
	}{
		{"defaults", `{"failure":{}}`, failure.Error{Kind: failure.ProviderFailed, Message: "mock: configured failure", Retryable: true}, sdk.OutcomeFailed},
		{
			"all members", `{"outcome":"rate_limited","failure":{"kind":"provider_timeout","message":"too slow","hint":"wait","retryable":false,"retry_after_seconds":30,"detail":"log"}}`,
			failure.Error{Kind: failure.ProviderTimeout, Message: "too slow", Hint: "wait", RetryAfterSeconds: 30, Detail: "log"},
			sdk.OutcomeRateLimited,
		},
		{"an unknown kind", `{"failure":{"kind":"solar_flare","message":"100% dark"}}`, failure.Error{Kind: "solar_flare", Message: "100% dark"}, sdk.OutcomeFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[`+tt.reply+`]}`)
			result, err := tr.execute(t.Context())
			var got *failure.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			compare(t, tt.want, *got)
			if result.Outcome != tt.out || result.Output != bashText {
				t.Errorf("beside the error: %+v", result)
			}
		})
	}
}

func TestFilesWithoutAPath(t *testing.T) {
	for _, reply := range []string{`{"result":{}}`, `{"status":{}}`, `{"progress":"x"}`, `{"artifact":{}}`, `{"raw_artifact":""}`} {
		tr := newFixture(t, `{"replies":[`+reply+`]}`)
		tr.req.Paths = sdk.Paths{}
		if _, err := tr.execute(t.Context()); failure.KindOf(err) != failure.ConfigInvalid {
			t.Errorf("%s: got %v", reply, err)
		}
	}
}

// TestFilesThatCannotBeWritten: an attempt whose files cannot be written fails, and names the file.
func TestFilesThatCannotBeWritten(t *testing.T) {
	for _, config := range []string{
		`{"replies":[{"result":{}}]}`, `{"replies":[{"status":{}}]}`, `{"replies":[{"progress":"x"}]}`, `{"replies":[{"artifact":{}}]}`,
		`{"replies":[{"tool_calls":[{"tool":"t","count_file":"artifact.yaml"}]}]}`, `{"replies":[{"spawn":{"command":["true"],"pid_file":"artifact.yaml"}}]}`,
		`{"record":"artifact.yaml"}`,
	} {
		tr := newFixture(t, config)
		tr.write(t, "artifact.yaml/in/the/way", "")
		way := filepath.Join(tr.dir, "artifact.yaml")
		tr.req.Paths = sdk.Paths{Result: way, Status: way, Progress: way}
		if _, err := tr.execute(t.Context()); err == nil || !strings.Contains(err.Error(), way) {
			t.Errorf("%s: got %v", config, err)
		}
	}
}

// The artifact is written beside the result, whether the attempt succeeds or not.
func TestArtifact(t *testing.T) {
	tests := []struct {
		name, reply, artifact, result string
		outcome                       sdk.Outcome
	}{
		{"none", `{}`, "", bashResult, sdk.OutcomeSucceeded},
		{"an object", `{"artifact":{"goal":"go","tasks":[1]}}`, `{"goal":"go","tasks":[1]}`, bashResult, sdk.OutcomeSucceeded},
		{"a text", `{"raw_artifact":"goal: go\n","result":{"outcome":"success"}}`, "goal: go\n", `{"outcome":"success"}`, sdk.OutcomeSucceeded},
		{"a file", `{"artifact_file":"prepared.yaml"}`, "goal: there\n", bashResult, sdk.OutcomeSucceeded},
		{"nothing but it", `{"output":"","no_result":true,"artifact":{}}`, "{}", "", sdk.OutcomeSucceeded},
		{"nothing but a file", `{"output":"","no_result":true,"artifact_file":"prepared.yaml"}`, "goal: there\n", "", sdk.OutcomeSucceeded},
		{"nothing but a text", `{"output":"","no_result":true,"raw_artifact":""}`, "", "", sdk.OutcomeSucceeded},
		{"of an attempt that fails", `{"artifact":{},"outcome":"failed"}`, "{}", "", sdk.OutcomeFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[`+tt.reply+`]}`)
			check(t, os.WriteFile(filepath.Join(tr.req.WorkDir, "prepared.yaml"), []byte("goal: there\n"), 0o600))
			got, err := tr.execute(t.Context())
			if err != nil || got.Outcome != tt.outcome {
				t.Fatalf("outcome %q, %v", got.Outcome, err)
			}
			if artifact, result := tr.file(t, "artifact.yaml"), tr.file(t, "result.json"); artifact != tt.artifact || result != tt.result {
				t.Errorf("artifact %q, want %q; result %q, want %q", artifact, tt.artifact, result, tt.result)
			}
		})
	}
}

// Templates are replaced; all other text stays unchanged.
func TestTemplates(t *testing.T) {
	type wrote struct {
		Output, Message, Progress, Result, Status, Artifact string
	}
	tests := []struct {
		name, reply string
		want        wrote
	}{
		{
			"texts", `{"output":"${NODE} ${STEP} ${VISIT}.${ITERATION}.${ATTEMPT} ${OTHER} $VISIT","messages":["at ${STEP}"],"progress":"- ${STEP}\n","no_result":true,"raw_artifact":"v: ${VISIT}"}`,
			wrote{"a\"b s1 2.3.4 ${OTHER} $VISIT", "at s1", "- s1\n", "", "", "v: 2"},
		},
		{"pieces", `{"output_chunks":["${VISIT}","${STEP}"],"messages":["m"],"no_result":true}`, wrote{Output: "2s1", Message: "m"}},
		{
			"objects", `{"output":"o","messages":["m"],"result":{"outcome":"fail","message":"<${NODE}>","n":"${ATTEMPT}","steps":{"${STEP}":"${STEP}"},"list":[["${VISIT}"," ${VISIT}",1.50,null]]},"artifact":{"n":"${ITERATION}","node":"${NODE}"}}`,
			wrote{
				"o", "m", "", `{"list":[[2," 2",1.50,null]],"message":"<a\"b>","n":4,"outcome":"fail","steps":{"s1":"s1"}}`, "",
				`{"n":3,"node":"a\"b"}`,
			},
		},
		{"quotes beside a template", `{"output":"o","messages":["m"],"status":{"reason":"\"${VISIT}"}}`, wrote{Output: "o", Message: "m", Status: `{"reason":"\"2"}`}},
		{"no template", `{"output":"o","messages":["m"],"result":{ "z": 1, "a": "${" }}`, wrote{Output: "o", Message: "m", Result: `{ "z": 1, "a": "${" }`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[`+tt.reply+`]}`)
			tr.req.Key, tr.req.Node, tr.req.Visit, tr.req.Iteration, tr.req.Attempt = "attempt:0/v2/r1/-/s1/i3#4", `a"b`, 2, 3, 4
			if _, err := tr.execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := wrote{
				tr.received.Text, tr.received.Progress[0].Message, tr.file(t, "progress.md"),
				tr.file(t, "result.json"), tr.file(t, "status.json"), tr.file(t, "artifact.yaml"),
			}
			compare(t, tt.want, got)
		})
	}
}

// Each request fills the templates of a shared reply with its own values.
func TestTemplatesPerRequest(t *testing.T) {
	tr := newFixture(t, `{"replies":[{"output_chunks":["${VISIT}"],"result":{"visit":["${VISIT}"]}}]}`)
	for want := 1; want <= 2; want++ {
		tr.req.Visit = want
		result, err := tr.execute(t.Context())
		if text := strconv.Itoa(want); err != nil || result.Output != text || tr.file(t, "result.json") != `{"visit":[`+text+`]}` {
			t.Errorf("visit %d: output %q, result %s, %v", want, result.Output, tr.file(t, "result.json"), err)
		}
	}
}

// An attempt does not exceed its budget and reports a usage of zero if it did not start (K32).
func TestBudget(t *testing.T) {
	const usage = `"usage":{"input_tokens":60,"output_tokens":30,"cache_write_tokens":10,"cache_read_tokens":500,"cost_usd":0.5}`
	tests := []struct {
		name, reply string
		budget      *sdk.Budget
		want        string // the error; "" if the reply is played
	}{
		{"none", usage, nil, ""},
		{"no limit", usage, &sdk.Budget{}, ""},
		{"just enough", usage, &sdk.Budget{MaxUSD: ptr(0.5), MaxTokens: ptr(int64(100))}, ""},
		{"no usage", `"output":"x"`, &sdk.Budget{MaxUSD: ptr(0.0), MaxTokens: ptr(int64(0))}, ""},
		{"too expensive", usage, &sdk.Budget{MaxUSD: ptr(0.25)}, "mock: the attempt would cost 0.5 USD, 0.25 are allowed"},
		{"too many tokens", usage, &sdk.Budget{MaxUSD: ptr(1.0), MaxTokens: ptr(int64(99))}, "mock: the attempt would use 100 tokens, 99 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[{`+tt.reply+`}]}`)
			tr.req.Budget = tt.budget
			got, err := tr.execute(t.Context())
			if tt.want == "" {
				if err != nil || tr.file(t, "result.json") == "" || got.Usage != nil && *got.Usage.CostUSD != 0.5 {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if failure.KindOf(err) != failure.BudgetExceeded || err.Error() != tt.want || got.Outcome != sdk.OutcomeFailed {
				t.Errorf("outcome %q, %v", got.Outcome, err)
			}
			spent := sdk.Usage{InputTokens: ptr(int64(0)), OutputTokens: ptr(int64(0)), CostUSD: ptr(0.0)}
			if diff := cmp.Diff(&spent, got.Usage); diff != "" || tr.received.Text != "" || tr.file(t, "result.json") != "" {
				t.Errorf("the attempt continued: %+v\n%s", tr.received, diff)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	tests := []struct {
		name   string
		config string
		env    string
		want   time.Duration
	}{
		{"none", `{}`, "", 0},
		{"environment", `{}`, "1.5", 1500 * time.Millisecond},
		{"configuration", `{"delay_ms":20}`, "9", 20 * time.Millisecond},
		{"reply", `{"delay_ms":20,"replies":[{"delay_ms":40}]}`, "9", 40 * time.Millisecond},
		{"reply without", `{"delay_ms":20,"replies":[{"delay_ms":0}]}`, "9", 0},
		{"chunks", `{"replies":[{"output_chunks":["a","b","c"],"chunk_delay_ms":5}]}`, "", 10 * time.Millisecond},
		{"tools", `{"replies":[{"tool_calls":[{"tool":"t","delay_ms":7}]}]}`, "", 7 * time.Millisecond},
		{"cancellation ignored", `{"replies":[{"delay_ms":3000,"ignore_cancel":true}]}`, "", 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newFixture(t, tt.config)
				tr.env[envDelay] = tt.env
				tr.req.IdleTimeout = 1500 * time.Millisecond // a silence as long as the limit is allowed
				if strings.Contains(tt.config, "ignore_cancel") {
					tr.req.Timeout, tr.req.IdleTimeout = time.Second, time.Second
				}
				result := must(tr.execute(t.Context()))
				if result.Duration != tt.want {
					t.Errorf("took %s, want %s", result.Duration, tt.want)
				}
			})
		})
	}
}

func TestWaitingEnds(t *testing.T) {
	tests := []struct {
		name    string
		reply   string
		timeout time.Duration
		silence time.Duration
		cancel  time.Duration
		want    failure.Kind
		after   time.Duration
	}{
		{name: "hang, cancelled", reply: `{"hang":true}`, cancel: time.Second, want: failure.SignalInterrupt, after: time.Second},
		{name: "hang, timeout", reply: `{"hang":true}`, timeout: time.Second, want: failure.ProviderTimeout, after: time.Second},
		{name: "hang, silence", reply: `{"hang":true}`, timeout: time.Minute, silence: time.Second, want: failure.ProviderTimeout, after: time.Second},
		{name: "hang, cancelled in silence", reply: `{"hang":true}`, silence: time.Minute, cancel: time.Second, want: failure.SignalInterrupt, after: time.Second},
		{name: "delay, cancelled", reply: `{"delay_ms":60000}`, cancel: time.Second, want: failure.SignalInterrupt, after: time.Second},
		{name: "delay, silence", reply: `{"delay_ms":60000}`, silence: time.Second, want: failure.ProviderTimeout, after: time.Second},
		{name: "delay, cancelled in silence", reply: `{"delay_ms":60000}`, silence: 10 * time.Second, cancel: time.Second, want: failure.SignalInterrupt, after: time.Second},
		{name: "chunks, cancelled", reply: `{"output_chunks":["a","b"],"chunk_delay_ms":5000}`, cancel: time.Second, want: failure.SignalInterrupt, after: time.Second},
		{name: "tool, cancelled", reply: `{"tool_calls":[{"tool":"t","delay_ms":5000}]}`, cancel: time.Second, want: failure.SignalInterrupt, after: time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr := newFixture(t, `{"replies":[`+tt.reply+`]}`)
				tr.req.Timeout, tr.req.IdleTimeout = tt.timeout, tt.silence
				ctx := t.Context()
				if tt.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.cancel)
					defer cancel()
				}
				result, err := tr.execute(ctx)
				if failure.KindOf(err) != tt.want {
					t.Errorf("got %v, want kind %s", err, tt.want)
				}
				if result.Duration != tt.after {
					t.Errorf("after %s, want %s", result.Duration, tt.after)
				}
			})
		})
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	tr := newFixture(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.execute(ctx); !errors.Is(err, context.Canceled) || tr.received.Text != "" {
		t.Errorf("got %v, output %q", err, tr.received.Text)
	}
}

func TestCrash(t *testing.T) {
	type seen struct {
		Ends   []processEnd
		Text   string
		Result bool
	}
	tests := []struct {
		name  string
		reply string
		want  seen
	}{
		{"by default before the result", `{"output":"x","crash":"panic"}`, seen{[]processEnd{{"panic", 0}}, "x", false}},
		{"at the start", `{"output":"x","crash":"kill","at":"start"}`, seen{[]processEnd{{"kill", 0}}, "", false}},
		{"after the result", `{"output":"x","crash":"exit","exit_code":9,"at":"after_result","result":{}}`, seen{[]processEnd{{"exit", 9}}, "x", true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[`+tt.reply+`]}`)
			if _, err := tr.execute(t.Context()); !errors.Is(err, errCrash) {
				t.Fatalf("got %v", err)
			}
			got := seen{tr.ends, tr.received.Text, tr.file(t, "result.json") != ""}
			compare(t, tt.want, got)
		})
	}
}

func TestEnvironment(t *testing.T) {
	tr := newFixture(t, "")
	other := filepath.Join(tr.dir, "elsewhere.json")
	tr.req.Iteration, tr.req.Paths = 0, sdk.Paths{}
	tr.env[envResultFile] = filepath.Join(tr.dir, "ignored.json")
	tr.req.Environment = map[string]string{envIteration: "4", envResultFile: other}
	if _, err := tr.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tr.file(t, "elsewhere.json"); !strings.Contains(got, "Mock iteration 4 completed") {
		t.Errorf("wrote %q", got)
	}

	tr.req.Environment[envStatusFile] = filepath.Join(tr.dir, "s.json")
	tr.req.Config = []byte(`{"replies":[{"status":{"decision":"stop"}}]}`)
	if _, err := tr.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tr.file(t, "s.json"); got != `{"decision":"stop"}` {
		t.Errorf("wrote %q", got)
	}
}

func TestUnusableEnvironment(t *testing.T) {
	tests := []struct{ name, value string }{
		{envDelay, "soon"},
		{envDelay, "-1"},
		{envDelay, "NaN"},
		{envDelay, "1e300"},
		{envIteration, "first"},
		{envIteration, "0"},
		{envConfig, "missing.json"},
	}
	for _, tt := range tests {
		tr := newFixture(t, "")
		tr.req.Iteration = 0
		tr.env[tt.name] = tt.value
		_, err := tr.execute(t.Context())
		if failure.KindOf(err) != failure.ConfigInvalid || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s=%s: got %v", tt.name, tt.value, err)
		}
	}
}

func TestRecord(t *testing.T) {
	tr := newFixture(t, `{"record":"requests.jsonl"}`)
	tr.write(t, "c.json", `{"record":"`+filepath.Join(tr.dir, "also.jsonl")+`"}`)
	tr.env[envConfig] = "c.json"
	tr.req.Key = "attempt:0/v1/r1/-/s7/i1#1"
	tr.req.Environment = map[string]string{"TOKEN": "secret", "A": "b"}
	tr.req.Timeout, tr.req.Budget = time.Minute, &sdk.Budget{MaxUSD: ptr(1.5)}
	tr.req.Resume = &sdk.Resume{
		Checkpoint: sdk.Checkpoint{Turn: 2, Blob: []byte(`{"next_call":1}`)},
		Calls:      []sdk.ResumedCall{{Call: sdk.ToolCall{CallID: "call-2", Tool: "t"}, Result: &sdk.ToolResult{}}},
	}
	for range 2 {
		if _, err := tr.execute(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(tr.file(t, "requests.jsonl"), "\n"), "\n")
	if len(lines) != 2 || lines[0] != lines[1] {
		t.Fatalf("lines: %q", lines)
	}
	if tr.file(t, "also.jsonl") != tr.file(t, "requests.jsonl") {
		t.Error("the second file has other lines")
	}
	var got Record
	check(t, json.Unmarshal([]byte(lines[0]), &got))
	want := Record{
		Key: tr.req.Key, Epoch: 1, Session: "demo", Node: "plan", Stage: "planner", Iteration: 1, Attempt: 1, Visit: 1,
		Step: "s7", Purpose: sdk.PurposeWork, Prompt: "make a plan", Model: "small", Config: tr.req.Config, WorkDir: tr.dir,
		Environment: []string{"A", "TOKEN"}, Paths: tr.req.Paths, TimeoutMS: 60000, PID: os.Getpid(),
		Budget: tr.req.Budget,
		Resume: &RecordedResume{Turn: 2, Blob: `{"next_call":1}`, Calls: []RecordedCall{{CallID: "call-2", Tool: "t", Finished: true}}},
	}
	compare(t, want, got)
}
