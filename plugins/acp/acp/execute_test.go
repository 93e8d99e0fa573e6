package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugins/acp/internal/fakeagent"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text := must(os.ReadFile(path))
	return string(text)
}

// sentParams returns the params of the messages that the agent got for a method.
func sentParams(t *testing.T, log, method string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for line := range strings.Lines(readFile(t, log)) {
		var m struct {
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		}
		check(t, json.Unmarshal([]byte(line), &m))
		if m.Method == method {
			found = append(found, m.Params)
		}
	}
	return found
}

// sentPrompts returns the prompts of the turns.
func sentPrompts(t *testing.T, log string) []string {
	t.Helper()
	var texts []string
	for _, p := range sentParams(t, log, "session/prompt") {
		texts = append(texts, p["prompt"].([]any)[0].(map[string]any)["text"].(string))
	}
	return texts
}

// enableLog makes the agent log the messages that it receives to a file.
func enableLog(t *testing.T, req *sdk.ExecuteRequest) (log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	req.Environment = map[string]string{fakeagent.LogVariable: log}
	return log
}

// TestExecute covers all reports of a turn: texts, tools with and without a request, tokens and cost.
func TestExecute(t *testing.T) {
	var dir string
	result, x, err := runAttempt(t, readFile(t, "testdata/full.json"), "", func(r *sdk.ExecuteRequest) { dir = r.WorkDir })
	check(t, err)
	if got := readFile(t, filepath.Join(dir, "a.txt")); got != "x" {
		t.Errorf("a.txt holds %q", got)
	}
	n := func(v int64) *int64 { return &v }
	cost := 0.25
	want := sdk.ExecuteResult{
		Output: "I look.\n\nDone.\n", Outcome: sdk.OutcomeSucceeded, AgentVersion: "9.8.7",
		Usage:    &sdk.Usage{InputTokens: n(30), OutputTokens: n(20), CacheReadTokens: n(5), CostUSD: &cost},
		Duration: result.Duration, Conversation: result.Conversation,
	}
	compare(t, want, result)
	r := x.Record()
	if got := r.Text(sdk.StreamText); got != want.Output {
		t.Errorf("shown: %q", got)
	}
	observed := []sdk.ToolCall{{
		CallID: "t1", Tool: "read", Args: json.RawMessage(`{"path":"go.mod"}`), Effect: sdk.EffectNone,
		Category: sdk.CategoryFileRead, Paths: []string{"go.mod"}, Reason: "Read go.mod",
	}}
	calls := []sdk.ToolCall{{
		CallID: "t2", Tool: "edit", Args: json.RawMessage(`{"path":"a.txt","text":"x"}`), Effect: sdk.EffectOnce,
		Category: sdk.CategoryFileWrite, Paths: []string{"a.txt"}, Reason: "Write a.txt",
	}}
	results := []sdk.ToolResult{{CallID: "t2", Status: sdk.ToolSuccess, Result: json.RawMessage(`{"bytes":1}`)}}
	ends := []sdk.ToolResult{{CallID: "t1", Status: sdk.ToolSuccess, Result: json.RawMessage(`"module x"`)}}
	compare(t, []any{observed, ends, calls, results}, []any{r.Observed, r.ObservedResults, r.Calls, r.Results})
	var live []string
	for _, p := range r.Progress {
		live = append(live, strings.TrimSpace(p.Message+" "+p.Tool))
	}
	compare(t, []string{"First a look.", "I look.", "Read go.mod read", "Write a.txt edit", "Done."}, live)
	if !strings.Contains(r.Text(sdk.StreamRaw), `"agent_thought_chunk"`) {
		t.Error("the raw record does not have the agent's own lines")
	}
}

// TestOutcomes tests the outcomes of all kinds of ends.
func TestOutcomes(t *testing.T) {
	failed, infra := sdk.OutcomeFailed, sdk.OutcomeInfrastructure
	for _, tt := range []struct {
		name, script string
		outcome      sdk.Outcome
		kind         failure.Kind
		message      string // part of the error's message
	}{
		{"it says and does nothing", `{"turns":[{}]}`, sdk.OutcomeEmpty, failure.ProviderFailed, "wrote nothing and used no tool"},
		{"it only thinks", `{"turns":[{"steps":[{"think":"hm"}]}]}`, sdk.OutcomeEmpty, failure.ProviderFailed, "wrote nothing and used no tool"},
		{"the model refuses", `{"turns":[{"steps":[{"say":"no"}],"result":{"stopReason":"refusal"}}]}`, failed, failure.ProviderFailed, "refusal"},
		{"too much text", `{"turns":[{"steps":[{"say":"no"}],"result":{"stopReason":"max_tokens"}}]}`, failed, failure.ProviderFailed, "max_tokens"},
		{"too many turns", `{"turns":[{"steps":[{"say":"no"}],"result":{"stopReason":"max_turn_requests"}}]}`, failed, failure.ProviderFailed, "max_turn_requests"},
		{"cancelled by another client", `{"turns":[{"steps":[{"say":"no"}],"result":{"stopReason":"cancelled"}}]}`, infra, failure.ProviderCrashed, "cancelled"},
		{"no reason at all", `{"turns":[{"steps":[{"say":"no"}],"result":{}}]}`, failed, failure.ProviderFailed, "without a reason"},
		{"an answer that is none", `{"turns":[{"steps":[{"say":"no"}],"result":["x"]}]}`, failed, failure.ProviderFailed, "without a reason"},
		{"no login", `{"errors":{"session/new":{"code":-32000,"message":"Authentication required"}}}`, sdk.OutcomeNeedsPerson, failure.ProviderFailed, "Authentication required"},
		{"no login, reported late", `{"turns":[{"error":{"code":-32000,"message":"Authentication required"}}]}`, sdk.OutcomeNeedsPerson, failure.ProviderFailed, "Authentication required"},
		{"a limit", `{"turns":[{"error":{"code":-32603,"message":"Internal error","data":{"details":"429 rate limit reached, try again in 5s"}}}]}`, sdk.OutcomeRateLimited, failure.ProviderFailed, "try again in 5s"},
		{"an error with a kind", `{"turns":[{"error":{"code":-32603,"message":"Internal error","data":{"errorKind":"billing_error"}}}]}`, sdk.OutcomeNeedsPerson, failure.ProviderFailed, "Internal error"},
		{"an unknown error", `{"turns":[{"error":{"code":-32603,"message":"Internal error"}}]}`, failed, failure.ProviderFailed, "Internal error"},
		{"it crashes", `{"turns":[{"steps":[{"say":"so"},{"stderr":"oh no"},{"exit":3}]}]}`, infra, failure.ProviderCrashed, "exited with code 3"},
		{"it exits well in the middle", `{"turns":[{"steps":[{"say":"so"},{"exit":0}]}]}`, infra, failure.ProviderCrashed, "without its answer"},
		{"noise", `{"turns":[{"steps":[{"line":"debug: x"},{"line":"{"},{"line":"[]"},{"line":"{\"id\":null}"},{"line":"null"},{"say":"ok"}]}]}`, sdk.OutcomeSucceeded, "", ""},
		{"news of unknown kinds", `{"turns":[{"steps":[{"update":{"sessionUpdate":"weather","sun":true}},{"update":{"sessionUpdate":["x"]}},{"update":"x"},{"say":"ok"}]}]}`, sdk.OutcomeSucceeded, "", ""},
		{"it asks for files and terminals", `{"turns":[{"steps":[{"call":"fs/write_text_file"},{"call":"terminal/create"},{"say":"ok"}]}]}`, sdk.OutcomeSucceeded, "", ""},
		{"it exits with its answer", `{"turns":[{"steps":[{"say":"ok"}],"after":[{"exit":1}]}]}`, sdk.OutcomeSucceeded, "", ""},
		{"another protocol", `{"start":[{"line":"Usage: agent"},{"exit":0}]}`, failed, failure.ConfigInvalid, "without a message of the Agent Client Protocol"},
		{"it does not start", `{"start":[{"stderr":"cannot find my library"},{"exit":1}]}`, infra, failure.ProviderCrashed, "exited with code 1"},
		{"a reason on stderr", `{"start":[{"stderr":"Not logged in"},{"exit":1}]}`, sdk.OutcomeNeedsPerson, failure.ProviderFailed, "Not logged in"},
		{"another version", `{"initialize":{"protocolVersion":2}}`, failed, failure.ConfigInvalid, "speaks version 2"},
		{"a session without an id", `{"session":{"sessionId":""}}`, failed, failure.ProviderFailed, "without an id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, _, err := runAttempt(t, tt.script, "", nil)
			check(t, err)
			var kind failure.Kind
			var message string
			if result.Error != nil {
				kind, message = result.Error.Kind, result.Error.Message
			}
			if result.Outcome != tt.outcome || kind != tt.kind || !strings.Contains(message, tt.message) {
				t.Errorf("%s, %s: %q; want %s, %s: %q", result.Outcome, kind, message, tt.outcome, tt.kind, tt.message)
			}
		})
	}
}

// TestLoginHint: the failure of a known agent without a login has a hint that says how to log in.
func TestLoginHint(t *testing.T) {
	script := `{"errors":{"session/new":{"code":-32000,"message":"Authentication required"}}}`
	result, _, err := runAttempt(t, script, `,"agent":"claude"`, nil)
	check(t, err)
	if e := result.Error; e == nil || !strings.HasPrefix(e.Hint, "log in: run claude") || !strings.HasPrefix(e.Message, "Claude Code: ") {
		t.Errorf("got %+v", e)
	}
}

// TestLastAnswerCounts: the last answer of an agent is not lost, however soon the agent ends.
func TestLastAnswerCounts(t *testing.T) {
	for range 20 {
		result, _, err := runAttempt(t, `{"turns":[{"steps":[{"say":"ok"}],"after":[{"exit":0}]}]}`, "", nil)
		if err != nil || result.Outcome != sdk.OutcomeSucceeded {
			t.Fatalf("outcome %s, error %v, %v", result.Outcome, err, result.Error)
		}
	}
}

// TestRemainingAgentIsEnded: an agent that stays after its stdin ends, and a child that keeps its streams open, are ended.
func TestRemainingAgentIsEnded(t *testing.T) {
	var dir string
	result, _, err := runAttempt(t, `{"stay":true,"turns":[{"steps":[{"spawn":"child"},{"ignore_term":true},{"say":"ok"}]}]}`, "", func(r *sdk.ExecuteRequest) {
		dir, r.Grace = r.WorkDir, 20*time.Millisecond
	})
	if err != nil || result.Outcome != sdk.OutcomeSucceeded {
		t.Fatalf("outcome %s, error %v, %v", result.Outcome, err, result.Error)
	}
	if state := processState(readFile(t, filepath.Join(dir, "child"))); state != "" && state != "Z" {
		t.Errorf("the child is alive: %s", state)
	}
}

// processState returns Linux's letter for the state of a process, "" for no process.
func processState(pid string) string {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(status), "\nState:\t")
	return after[:1]
}

// TestCancel: the agent gets a cancellation, and its last messages are kept.
func TestCancel(t *testing.T) {
	for name, script := range map[string]string{
		"at once": `{"turns":[{"steps":[{"say":"wait"},{"await":true},{"say":"stopped"}],` +
			`"result":{"stopReason":"cancelled","usage":{"inputTokens":7,"outputTokens":1}}}]}`,
		"while it asks": `{"turns":[{"steps":[{"say":"wait"},{"ask":{"toolCallId":"t1","title":"Write"},"refused":[{"say":"stopped"}]}],` +
			`"result":{"stopReason":"cancelled","usage":{"inputTokens":7,"outputTokens":1}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			x := &plugintest.Exchange{OnCall: func(sdk.ToolCall) error { cancel(); return ctx.Err() }}
			if name == "at once" {
				x.OnOutput = func(c sdk.OutputChunk) {
					if c.Stream == sdk.StreamText {
						cancel()
					}
				}
			}
			req := sdk.ExecuteRequest{Prompt: "do it", WorkDir: t.TempDir(), Config: scriptConfig(t, script, ""), Grace: 20 * time.Second}
			log := enableLog(t, &req)
			result, err := provider().Execute(ctx, req, x)
			if failure.KindOf(err) != failure.SignalInterrupt {
				t.Errorf("error %v", err)
			}
			if len(sentParams(t, log, "session/cancel")) != 1 {
				t.Errorf("the agent did not get one cancellation:\n%s", readFile(t, log))
			}
			if result.Output != "wait\n\nstopped\n" && result.Output != "waitstopped\n" || result.Usage == nil || *result.Usage.InputTokens != 7 {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// TestCancelIsIgnored: an agent that ignores the cancellation is ended.
func TestCancelIsIgnored(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	x := &plugintest.Exchange{OnOutput: func(c sdk.OutputChunk) {
		if c.Stream == sdk.StreamText {
			cancel()
		}
	}}
	req := sdk.ExecuteRequest{Prompt: "do it", WorkDir: t.TempDir(), Grace: 20 * time.Millisecond}
	req.Config = scriptConfig(t, `{"turns":[{"steps":[{"ignore_term":true},{"spawn":"child"},{"say":"wait"},{"hang":true}]}]}`, "")
	result, err := provider().Execute(ctx, req, x)
	if failure.KindOf(err) != failure.SignalInterrupt || result.Outcome != sdk.OutcomeInfrastructure || result.ExitCode != -1 {
		t.Errorf("result %+v, error %v", result, err)
	}
}

// TestNeverReady: an agent that is never ready is ended after the start limit.
func TestNeverReady(t *testing.T) {
	p := provider()
	p.startLimit = 50 * time.Millisecond
	req := sdk.ExecuteRequest{Prompt: "do it", WorkDir: t.TempDir(), Grace: time.Second}
	req.Config = scriptConfig(t, `{"start":[{"hang":true}]}`, "")
	result, err := p.Execute(t.Context(), req, &plugintest.Exchange{})
	if err != nil || result.Outcome != sdk.OutcomeInfrastructure || failure.KindOf(result.Error) != failure.ProviderTimeout {
		t.Errorf("result %+v, error %v", result, err)
	}
}

// TestIdle: silence counts towards the idle limit, except while the user is asked.
func TestIdle(t *testing.T) {
	limit := func(r *sdk.ExecuteRequest) { r.IdleTimeout, r.Grace = time.Second, 100*time.Millisecond }
	x := &plugintest.Exchange{OnCall: func(sdk.ToolCall) error { time.Sleep(1500 * time.Millisecond); return nil }}
	script := `{"turns":[{"steps":[{"ask":{"toolCallId":"t1","title":"Write"},"allowed":[{"say":"thanks"}]}]}]}`
	if result, err := execute(t, x, script, "", limit); err != nil || result.Output != "thanks\n" {
		t.Errorf("result %+v, error %v", result, err)
	}
	if _, _, err := runAttempt(t, `{"turns":[{"steps":[{"say":"so"},{"hang":true}]}]}`, "", limit); failure.KindOf(err) != failure.ProviderTimeout {
		t.Errorf("error %v", err)
	}
}

// TestQuestion: the answer to a question is the last message.
func TestQuestion(t *testing.T) {
	result, _, err := runAttempt(t, readFile(t, "testdata/full.json"), "", func(r *sdk.ExecuteRequest) { r.Purpose = sdk.PurposeQuestion })
	if err != nil || result.Output != "Done." {
		t.Errorf("output %q, error %v", result.Output, err)
	}
}

// TestResume: an interrupted attempt continues in its session; replayed updates are not reported.
func TestResume(t *testing.T) {
	resume := &sdk.Resume{Checkpoint: sdk.Checkpoint{Turn: 1, Blob: []byte(`{"session":"s-1"}`)}}
	past := `"replay":[{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"of old"}},{"sessionUpdate":"tool_call","toolCallId":"old","title":"x","status":"completed"}]`
	const again = `"turns":[{"steps":[{"say":"afresh"}]}],"resumed":[{"steps":[{"say":"on"}]}]`
	for _, tt := range []struct{ name, script, method, output, session, prompt string }{
		{"it loads sessions", `{` + past + `,` + again + `}`, "session/load", "on\n", "s-1", resumePreamble + "do it"},
		{
			"it resumes sessions", `{"initialize":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}},` + again + `}`,
			"session/resume", "on\n", "s-1", resumePreamble + "do it",
		},
		{"it has forgotten", `{"errors":{"session/load":{"code":-32002,"message":"not found"}},` + again + `}`, "session/new", "afresh\n", "", "do it"},
		{"it cannot", `{"initialize":{"protocolVersion":1},` + again + `}`, "session/new", "afresh\n", "", "do it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log string
			result, x, err := runAttempt(t, tt.script, "", func(r *sdk.ExecuteRequest) { log, r.Resume = enableLog(t, r), resume })
			if err != nil || result.Output != tt.output || tt.session != "" && result.Conversation != tt.session {
				t.Errorf("result %+v, error %v", result, err)
			}
			if len(sentParams(t, log, tt.method)) != 1 {
				t.Errorf("no %s:\n%s", tt.method, readFile(t, log))
			}
			compare(t, []string{tt.prompt}, sentPrompts(t, log))
			if len(x.Record().Observed) > 0 {
				t.Errorf("observed %v", x.Record().Observed)
			}
		})
	}
}

// TestCheckpointFails: a checkpoint that cannot be stored ends the attempt.
func TestCheckpointFails(t *testing.T) {
	x := &plugintest.Exchange{OnCheckpoint: func(sdk.Checkpoint) error { return errors.New("disk full") }}
	result, err := execute(t, x, `{"turns":[{"steps":[{"say":"ok"}]}]}`, "", nil)
	if err != nil || result.Outcome != sdk.OutcomeFailed || !strings.Contains(result.Error.Message, "disk full") {
		t.Errorf("result %+v, error %v", result, err)
	}
}
